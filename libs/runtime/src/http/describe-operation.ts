import { ERRORS, type ErrorCode, LIMITS, PROBLEM_BASE } from '@tidings/model';
import type { FastifySchema } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { errorsOf, type Operation, schemasOf } from './operation.js';
import { PROBLEM_TYPE } from './problem.js';

/** What only the document needs of an operation, so that no request pays for it. */
export function describe(schema: FastifySchema, one: Operation): FastifySchema {
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
						pattern: String.raw`^(\*|(W/)?"[!#-~]*"(, ?(W/)?"[!#-~]*")*)$`,
						description: 'The `ETag` of what you have read, or `*`: whatever stands. Without it: 428; stale: 412.',
					}),
				}
			: {}),
		...(one.submits === true
			? {
					'Idempotency-Key': optional(
						'Visible ASCII. A repeated request with the same key and body is answered as the first one was, for at least 24 hours.',
						{ minLength: 1, maxLength: LIMITS.idempotencyKey, pattern: '^[!-~]+$' },
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
				content: {
					[PROBLEM_TYPE]: {
						schema: Type.Ref('Problem'),
						examples: Object.fromEntries(list.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
					},
				},
			},
		]),
	);
}

/** One refusal for each code that these operations can be refused with, by its name. */
export function problemExamples(operations: readonly Operation[]): Record<string, { summary: string; value: object }> {
	const codes = [...new Set(operations.flatMap(errorsOf))];
	return Object.fromEntries(
		codes
			.map((code) => [code, ERRORS[code]] as const)
			.map(([code, { title, status, help }]) => [
				code,
				{
					summary: title,
					value: {
						type: PROBLEM_BASE + code,
						title,
						status,
						detail: help,
						instance: '/v1/mails',
						code,
						traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
						errors: code === 'invalid-request' ? [{ pointer: '/to', code: 'required', detail: '`to` is missing.' }] : [],
					},
				},
			]),
	);
}

/** The headers that an answer carries, as the document tells them. `Location` belongs to what was made or begun. */
export function answerHeaders(one: Operation, status: number): Record<string, object> {
	const own = Object.entries(status < 300 ? (one.headers ?? {}) : {}).filter(([name]) => name !== 'Location' || status > 200);
	const texts = {
		'Tidings-Trace-Id': 'The trace of this request, as `traceId` in a refusal.',
		...Object.fromEntries(own),
		...(status === 202 && one.submits === true
			? { 'Idempotent-Replayed': '`true` when a request with this `Idempotency-Key` was accepted before; absent otherwise.' }
			: {}),
		...(status === 401 ? { 'WWW-Authenticate': '`Bearer`: the scheme that is asked for (RFC 6750).' } : {}),
		...(status === 429 || status === 503 ? { 'Retry-After': 'Seconds after which to repeat.' } : {}),
	};
	return Object.fromEntries(Object.entries(texts).map(([name, description]) => [name, { description, schema: { type: 'string' } }]));
}
