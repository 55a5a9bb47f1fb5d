import swagger from '@fastify/swagger';
import { ERRORS, FAULTS } from '@tidings/model';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { answerHeaders, describe, problemExamples } from './describe-operation.js';
import type { Operation } from './operation.js';

/** What the document says about the API as a whole. */
export type ApiInfo = {
	readonly title: string;
	readonly version: string;
	readonly description: string;
	/** Under what the API's description and its clients may be used. */
	readonly license?: { readonly name: string; readonly url?: string };
	readonly tags: readonly { readonly name: string; readonly description: string }[];
};

/** A refusal, as the document describes it. */
export const PROBLEM_SCHEMA = Type.Object(
	{
		type: Type.String({ format: 'uri', description: '`https://tidings.dev/problems/{code}`.' }),
		title: Type.String({ description: 'What the code means, in a few words.' }),
		status: Type.Integer({ minimum: 400, maximum: 599, description: 'The status of the answer.' }),
		detail: Type.String({ description: 'What is wrong with this request, and what to do.' }),
		instance: Type.String({ description: 'The path of the request.' }),
		code: Type.String({ enum: Object.keys(ERRORS), description: 'What a program decides by: docs/errors.md has a paragraph for each.' }),
		traceId: Type.String({ description: 'Quote it when you ask for help.' }),
		errors: Type.Array(
			Type.Object({
				pointer: Type.String({ description: 'JSON Pointer into the body; empty for the whole of it.' }),
				code: Type.String({ enum: Object.keys(FAULTS), description: 'Which fault it is.' }),
				detail: Type.String({ description: 'What is wrong there, and what to do.' }),
			}),
			{ description: 'Every fault of the body at once; empty where the refusal is not about its fields.' },
		),
	},
	{ $id: 'Problem', description: 'A refusal (RFC 9457).' },
);

/** Serves nothing by itself: gathers the document of every operation that is added after it. Read it with `app.swagger()` when the app is ready. */
export async function gatherOpenApi(app: FastifyInstance, info: ApiInfo, operations: readonly Operation[]): Promise<void> {
	const byRoute = new Map(operations.map((one) => [one.operationId, one]));
	await app.register(swagger, {
		openapi: {
			openapi: '3.1.0',
			info: {
				title: info.title,
				version: info.version,
				description: info.description,
				...(info.license === undefined ? {} : { license: info.license }),
			},
			servers: [{ url: '/', description: 'Where this document comes from.' }],
			tags: [...info.tags],
			components: {
				examples: problemExamples(operations),
				securitySchemes: {
					apiKey: {
						type: 'http',
						scheme: 'bearer',
						description: 'An API key, sent as `Authorization: Bearer tdg_…`. Where a page asks for it, give the key alone: `tdg_…`.',
					},
					jwt: {
						type: 'http',
						scheme: 'bearer',
						bearerFormat: 'JWT',
						description:
							'A token of the issuer that the operator has set (TIDINGS_JWT_*): `sub`, `exp`, the tenant in `tenant_id`, capabilities in `scope`, separated by spaces.',
					},
				},
			},
			security: [{ apiKey: [] }, { jwt: [] }],
		},
		refResolver: { buildLocalReference: (json) => String(json['$id']) },
		transform: ({ schema, url }) => {
			const one = byRoute.get((schema as { operationId?: string } | undefined)?.operationId ?? '');
			return { schema: one === undefined ? { ...schema, hide: true } : describe(schema, one), url };
		},
		transformObject: (document) =>
			('openapiObject' in document ? finish(document.openapiObject as Document, operations) : document.swaggerObject) as object,
	});
}

type Media = { example?: unknown };
type Described = {
	operationId?: string;
	requestBody?: { required?: boolean; content: Record<string, Media> };
	responses: Record<string, { content?: Record<string, Media>; headers?: Record<string, object> }>;
};
type Document = { paths: Record<string, Record<string, Described>> };

function finish(document: Document, operations: readonly Operation[]): Document {
	sayMore(document);
	const described = Object.values(document.paths).flatMap((path) => Object.values(path));
	for (const one of operations) {
		const found = described.find((candidate) => candidate.operationId === one.operationId);
		if (found === undefined) continue;
		if (found.requestBody !== undefined) found.requestBody.required = one.bodyOptional !== true;
		for (const media of Object.values(found.requestBody?.content ?? {})) media.example = one.example;
		for (const [status, example] of Object.entries(shownAnswers(one)))
			for (const media of Object.values(found.responses[status]?.content ?? {})) media.example = example;
		for (const [status, answer] of Object.entries(found.responses)) answer.headers = answerHeaders(one, Number(status));
	}
	return document;
}

/** What a schema says to readers only (`x-document`), because a check of its own says more about a fault, stands where all else stands. */
function sayMore(part: unknown): void {
	if (typeof part !== 'object' || part === null) return;
	const schema = part as Record<string, unknown>;
	if (schema['x-document'] !== undefined) Object.assign(schema, schema['x-document']);
	// Readers and generators want to be told that the words of a list are texts.
	if (Array.isArray(schema['enum']) && schema['type'] === undefined && schema['enum'].every((one) => typeof one === 'string'))
		schema['type'] = 'string';
	delete schema['x-document'];
	delete schema['x-form'];
	for (const inner of Object.values(schema)) sayMore(inner);
}

/** Examples of answers by status; where there is no body to show, the operation's example is its answer. */
function shownAnswers(one: Operation): Readonly<Record<string, unknown>> {
	const [status = '200'] = Object.keys(one.answers);
	return { ...(one.body === undefined ? { [status]: one.example } : {}), ...one.answerExamples };
}
