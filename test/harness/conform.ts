import { isUuid } from '@tidings/model';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

type Answered = { readonly status: number; readonly headers: Headers; readonly body: unknown };
type Documented = {
	readonly responses: Record<string, { content?: Record<string, { schema: object }>; headers?: Record<string, unknown> }>;
};
/** The OpenAPI document, as far as answers go. */
export type ApiDocument = {
	readonly paths: Record<string, Record<string, Documented>>;
	readonly components: { schemas: Record<string, object> };
};

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** Makes an Ajv that knows the document's schemas; references to them become `doc#/…`. Times are as answers show them: UTC with milliseconds. */
export function ajvOf(
	document: ApiDocument,
	times: (text: string) => boolean = (text) => TIME.test(text),
): (schema: object) => ValidateFunction {
	const ajv = new Ajv2020({ strict: false, allErrors: true });
	ajv.addFormat('uuid', isUuid);
	ajv.addFormat('date-time', times);
	ajv.addFormat('date', (text: string) => TIME.test(`${text}T00:00:00.000Z`));
	ajv.addFormat('idn-email', (text: string) => text.includes('@'));
	ajv.addFormat('uri', (text: string) => URL.canParse(text));
	ajv.addSchema(JSON.parse(JSON.stringify({ $id: 'doc', components: document.components })));
	const compiled = new Map<string, ValidateFunction>();
	return (schema) => {
		const text = JSON.stringify(schema).replaceAll('"#/', '"doc#/');
		const check = compiled.get(text) ?? ajv.compile(JSON.parse(text));
		compiled.set(text, check);
		return check;
	};
}

/**
 * Makes the check that an answer is one that the document promises for its operation: a status, a content type, a body, headers. It returns what is not so; nothing for what is.
 * What is no operation must be refused with a problem.
 */
export function createConform(document: ApiDocument): (method: string, path: string, answer: Answered) => string[] {
	const compile = ajvOf(document);
	const paths = Object.entries(document.paths).map(([path, operations]) => ({ operations, pattern: patternOf(path) }));
	const problem = { $ref: '#/components/schemas/Problem' };
	const bodyFaults = (schema: object, body: unknown): string[] => {
		const check = compile(schema);
		return check(body) ? [] : (check.errors ?? []).map((one) => `${one.instancePath} ${one.message} ${JSON.stringify(one.params)}`);
	};
	return (method, url, { status, headers, body }) => {
		// The same as GET, without the body.
		if (method === 'HEAD') return body === null ? [] : ['there is a body where none can be'];
		const type = headers.get('content-type');
		const path = url.split('?', 1)[0] ?? '';
		// A path without parameters is meant before one with them.
		const there = paths.filter((one) => one.pattern.test(path)).map((one) => one.operations[method.toLowerCase()]);
		const operation = there.find((one) => one !== undefined);
		if (operation === undefined) return status < 400 ? [`${method} ${path} is not in the document`] : bodyFaults(problem, body);
		const promised = operation.responses[String(status)];
		if (promised === undefined) return [`the document does not know the status ${status}`];
		const missing = Object.keys(promised.headers ?? {}).filter((name) => !OPTIONAL.has(name) && !headers.has(name));
		const lacks = missing.map((name) => `the header ${name} is missing`);
		const content = Object.entries(promised.content ?? {});
		if (content.length === 0) return body === null ? lacks : [...lacks, 'there is a body where none is promised'];
		const [media] = content.filter(([one]) => one === type?.split(';', 1)[0]);
		return media === undefined ? [...lacks, `the content type is ${type}`] : [...lacks, ...bodyFaults(media[1].schema, body)];
	};
}

/** Headers that an answer carries only sometimes. */
const OPTIONAL = new Set(['Idempotent-Replayed']);

function patternOf(path: string): RegExp {
	return new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^:/]+')}$`);
}
