import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { CAPABILITIES } from '@tidings/model';
import { startApi, type TestApi } from '../../../test/harness/api.js';
import { type ApiDocument, ajvOf } from '../../../test/harness/conform.js';
import { readTime } from './checks/time.js';

type Media = { schema: object; example?: unknown; examples?: Record<string, { $ref: string }> };
type Documented = {
	operationId: string;
	summary?: string;
	description?: string;
	tags?: string[];
	security?: object[];
	parameters?: { name: string; in: string; description?: string; schema: { pattern?: string } }[];
	requestBody?: { content: Record<string, Media> };
	responses: Record<string, { description: string; content?: Record<string, Media>; headers?: Record<string, unknown> }>;
};
type Document = ApiDocument & {
	paths: Record<string, Record<string, Documented>>;
	tags: { name: string; description: string }[];
	components: { schemas: Record<string, Schema>; examples: Record<string, { value: unknown }> };
};
type Schema = { properties?: Record<string, Schema>; items?: Schema; description?: string; $ref?: string };

let api: TestApi;
let document: Document;
let operations: [string, Documented][];
beforeAll(async () => {
	api = await startApi();
	document = (await api.call('/openapi.json', { key: null })).body;
	operations = Object.entries(document.paths).flatMap(([path, methods]) =>
		Object.entries(methods).map(([method, one]): [string, Documented] => [`${method.toUpperCase()} ${path}`, one]),
	);
});
afterAll(async () => await api.stop());

/** Names of operations for which something does not hold. */
const where = (lacks: (one: Documented) => boolean): string[] => operations.filter(([, one]) => lacks(one)).map(([name]) => name);

test('every operation says what it is, who may, and how it can be refused', () => {
	expect(operations.length).toBeGreaterThan(20);
	expect(new Set(operations.map(([, one]) => one.operationId)).size).toBe(operations.length);
	const tags = new Map(document.tags.map((one) => [one.name, one.description]));
	expect(where((one) => !one.operationId || !one.summary || one.tags?.length !== 1 || !tags.get(one.tags[0] ?? ''))).toEqual([]);
	const needs = [...CAPABILITIES.map((one) => `Needs the capability \`${one}\`.`), 'Needs no credential.'];
	expect(where((one) => !needs.some((words) => one.description?.endsWith(words)))).toEqual([]);
	expect(where((one) => (one.security?.length === 0) !== one.description?.endsWith('Needs no credential.'))).toEqual([]);
	expect(where((one) => ['400', '500'].some((status) => one.responses[status] === undefined))).toEqual([]);
	expect(where((one) => Object.values(one.responses).some((answer) => answer.description === 'Default Response'))).toEqual([]);
	expect(where((one) => one.parameters?.some((parameter) => !parameter.description) === true)).toEqual([]);
	const used = new Set(operations.flatMap(([, one]) => one.tags ?? []));
	expect([...tags.keys()].filter((name) => !used.has(name))).toEqual([]);
});

/** Rules of the linter that are switched off, and why. All others hold. */
const OFF = {
	'tags-alphabetical': 'Tags stand in the order in which an integrator meets them.',
	'info-license-strict': 'There is no licence that has a name in SPDX, or an address.',
	'info-contact': 'Whoever runs an installation is asked, and the document does not know them.',
	'scalar-property-missing-example': 'Examples show whole bodies, where fields fit together.',
	'required-string-property-missing-min-length': 'Lengths are promised where something is refused by them; answers are not.',
	'response-mime-type': 'Refusals are application/problem+json (RFC 9457).',
	'path-segment-plural': 'A version is no collection, and an act on one thing is a verb.',
	'paths-kebab-case': 'An act on one thing is written `…/{id}:verb`.',
	'path-http-verbs-order': 'What is done first comes first.',
};

test('a linter finds nothing in the document', async () => {
	const rules = Object.fromEntries(Object.keys(OFF).map((rule) => [rule, 'off' as const]));
	const config = await createConfig({ extends: ['all'], rules });
	const problems = await lintFromString({ source: JSON.stringify(document), config });
	expect(problems.map((one) => `${one.ruleId} ${one.location[0]?.pointer}: ${one.message}`)).toEqual([]);
});

test('every request body and every answer has an example that fits its schema', () => {
	const compile = ajvOf(document, (text) => readTime(text) !== null);
	const misfits: unknown[] = [];
	const look = (place: string, schema: object, example: unknown): void => {
		const check = compile(schema);
		if (example === undefined) misfits.push(`${place}: no example`);
		else if (!check(example)) misfits.push([place, check.errors?.map((one) => `${one.instancePath} ${one.message}`)]);
	};
	for (const [name, one] of operations) {
		for (const { schema, example } of Object.values(one.requestBody?.content ?? {})) look(`${name} request`, schema, example);
		for (const [status, answer] of Object.entries(one.responses)) {
			for (const { schema, example, examples } of Object.values(answer.content ?? {})) {
				const named = Object.values(examples ?? {}).map(({ $ref }) => document.components.examples[$ref.split('/').at(-1) ?? '']?.value);
				for (const shown of status < '300' ? [example] : named.length > 0 ? named : [undefined]) look(`${name} ${status}`, schema, shown);
			}
		}
	}
	expect(misfits).toEqual([]);
});

/** Fields whose names say all. */
const OBVIOUS = new Set([
	'id',
	'name',
	'note',
	'data',
	'bytes',
	'filename',
	'contentType',
	'host',
	'port',
	'username',
	'password',
	'createdAt',
	'updatedAt',
	'traceId',
	'address',
	'role',
	'type',
	'channel',
	'scope',
	'priority',
	'text',
	'html',
	'subject',
	'active',
]);

test('every field that does not say all by its name is described', () => {
	const bare: string[] = [];
	const walk = (at: string, schema: Schema): void => {
		for (const [name, field] of Object.entries(schema.properties ?? {})) {
			const { $ref } = field.items ?? field;
			if (!field.description && $ref === undefined && !OBVIOUS.has(name)) bare.push(`${at}.${name}`);
			walk(`${at}.${name}`, field.items ?? field);
		}
	};
	for (const [name, schema] of Object.entries(document.components.schemas)) walk(name, schema);
	expect(bare).toEqual([]);
});

test('the document tells the headers of answers, the filters by marks, the bounds of limit, and that an unknown query is refused', async () => {
	const { paths } = document;
	const headers = (path: string, method: string, status: string): string[] =>
		Object.keys(paths[path]?.[method]?.responses[status]?.headers ?? {});
	expect(headers('/v1/mails', 'post', '202')).toEqual(['Tidings-Trace-Id', 'Location', 'Idempotent-Replayed']);
	expect(headers('/v1/mails', 'post', '200')).toEqual(['Tidings-Trace-Id']);
	expect(headers('/v1/mails:batch', 'post', '202')).toEqual(['Tidings-Trace-Id', 'Idempotent-Replayed']);
	expect(headers('/v1/mail-servers', 'post', '201')).toContain('Location');
	expect(headers('/v1/mails', 'post', '503')).toEqual(['Tidings-Trace-Id', 'Retry-After']);
	expect(headers('/v1/mails', 'post', '401')).toEqual(['Tidings-Trace-Id', 'WWW-Authenticate']);
	const query = paths['/v1/messages']?.['get']?.parameters ?? [];
	expect(query.map((one) => one.name)).toContain('metadata.{name}');
	const pattern = new RegExp(query.find((one) => one.name === 'limit')?.schema.pattern ?? '');
	expect(['0', '1', '9', '10', '99', '100', '199', '200', '201', '01', '999'].filter((text) => pattern.test(text))).toEqual([
		'1',
		'9',
		'10',
		'99',
		'100',
		'199',
		'200',
	]);
	expect((await api.call('/openapi.json?x=1', { key: null })).status).toBe(400);
});
