import swagger from '@fastify/swagger';
import { ERRORS, type ErrorCode, LIMITS } from '@tidings/model';
import type { FastifyInstance, FastifySchema } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { errorsOf, type Operation, schemasOf } from './operation.js';
import { PROBLEM_TYPE } from './problem.js';

/** What the document says about the API as a whole. */
export type ApiInfo = {
	readonly title: string;
	readonly version: string;
	readonly description: string;
	readonly tags: readonly { readonly name: string; readonly description: string }[];
};

/** A refusal, as the document describes it. */
export const PROBLEM_SCHEMA = Type.Object(
	{
		type: Type.String({ description: '`https://tidings.dev/problems/{code}`.' }),
		title: Type.String(),
		status: Type.Integer(),
		detail: Type.String({ description: 'What is wrong with this request, and what to do.' }),
		instance: Type.String({ description: 'The path of the request.' }),
		code: Type.String({ enum: Object.keys(ERRORS) }),
		traceId: Type.String({ description: 'Quote it when you ask for help.' }),
		errors: Type.Array(
			Type.Object({
				pointer: Type.String({ description: 'JSON Pointer into the body; empty for the whole of it.' }),
				code: Type.String(),
				detail: Type.String(),
			}),
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
			info: { title: info.title, version: info.version, description: info.description },
			tags: [...info.tags],
			components: {
				securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: `Authorization: Bearer tdg_…`.' } },
			},
			security: [{ apiKey: [] }],
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

/** What only the document needs, so that no request pays for it. */
function describe(schema: FastifySchema, one: Operation): FastifySchema {
	const needs = one.access === 'public' ? 'Needs no credential.' : `Needs the capability \`${one.access}\`.`;
	return {
		...schema,
		description: [one.description, needs].filter(Boolean).join('\n\n'),
		summary: one.summary,
		tags: [one.tag],
		...(one.access === 'public' ? { security: [] } : { headers: headersOf(one) }),
		response: { ...schemasOf(one.answers), ...refusals(errorsOf(one)) },
	} as FastifySchema;
}

function headersOf(one: Operation): TSchema {
	const optional = (description: string, more: object = {}): TSchema => Type.Optional(Type.String({ description, ...more }));
	return Type.Object({
		traceparent: optional('W3C Trace Context; the answer and everything it causes continue this trace.'),
		'Tidings-Tenant': optional('Act for this tenant. Needs the capability `platform`.', { format: 'uuid' }),
		...(one.guarded === true
			? {
					'If-Match': Type.String({
						description: 'The `ETag` of what you have read, or `*`: whatever stands. Without it: 428; stale: 412.',
					}),
				}
			: {}),
		...(one.submits === true
			? {
					'Idempotency-Key': optional(
						'Visible ASCII. A repeated request with the same key and body is answered as the first one was, for at least 24 hours.',
						{ maxLength: LIMITS.idempotencyKey },
					),
				}
			: {}),
	});
}

function refusals(codes: readonly ErrorCode[]): Record<number, object> {
	const byStatus = new Map<number, ErrorCode[]>();
	for (const code of codes) byStatus.set(ERRORS[code].status, [...(byStatus.get(ERRORS[code].status) ?? []), code]);
	return Object.fromEntries(
		[...byStatus].map(([status, list]) => [
			status,
			{
				description: list.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join(' '),
				content: { [PROBLEM_TYPE]: { schema: Type.Ref('Problem') } },
			},
		]),
	);
}

function answerHeaders(one: Operation, status: number): Record<string, object> {
	const texts = {
		'Tidings-Trace-Id': 'The trace of this request, as `traceId` in a refusal.',
		...(status < 300 && status !== 200 ? one.headers : {}),
		...(status === 202 && one.submits === true
			? { 'Idempotent-Replayed': '`true` when a request with this `Idempotency-Key` was accepted before; absent otherwise.' }
			: {}),
		...(status === 503 ? { 'Retry-After': 'Seconds after which to repeat.' } : {}),
	};
	return Object.fromEntries(Object.entries(texts).map(([name, description]) => [name, { description, schema: { type: 'string' } }]));
}

function finish(document: Document, operations: readonly Operation[]): Document {
	const described = Object.values(document.paths).flatMap((path) => Object.values(path));
	for (const one of operations) {
		const found = described.find((candidate) => candidate.operationId === one.operationId);
		if (found === undefined) continue;
		if (found.requestBody !== undefined) found.requestBody.required = one.bodyOptional !== true;
		const content = found.requestBody?.content ?? found.responses['200']?.content ?? {};
		for (const media of Object.values(content)) media.example = one.example;
		for (const [status, answer] of Object.entries(found.responses)) answer.headers = answerHeaders(one, Number(status));
	}
	return document;
}
