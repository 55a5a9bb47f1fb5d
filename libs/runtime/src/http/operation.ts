import type { Capability, ErrorCode, Trace } from '@tidings/model';
import type { Span } from '@tidings/telemetry';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, type TObject, type TSchema, Type } from 'typebox';
import type { Caller } from './authenticate.js';

declare module 'fastify' {
	interface FastifyRequest {
		/** Who calls; null where no credential is needed. See `callerOf`. */
		caller: Caller | null;
		/** Where the request stands in its trace: what goes on under it carries this `traceparent`. */
		trace: Trace;
		/** The step of its trace that the request is; null while traces are not exported. */
		span: Span | null;
		/** SHA-256 of the raw body; only there when the request has an Idempotency-Key. */
		bodySha256: Buffer | null;
		/** What was asked for; null when there is no such path. */
		operation: Operation | null;
	}
}

/** A request of an operation, with its parts typed by the operation's schemas. */
export type OperationRequest<Body = unknown, Query = unknown> = FastifyRequest<{ Body: Body; Querystring: Query; Params: { id: string } }>;

/** One operation of the API: what is served, what is checked, and what the OpenAPI document says about it. */
export type Operation<Body extends TSchema = TSchema, Query extends TObject = TObject> = {
	readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
	/** As a person writes it: `/v1/messages/{id}:retry`. */
	readonly path: string;
	readonly operationId: string;
	readonly tag: string;
	readonly summary: string;
	readonly description?: string;
	/** The capability that is needed; `public`: no credential. */
	readonly access: Capability | 'public';
	/** Schema of the query; default: no query field is known. Values are texts. */
	readonly query?: Query;
	readonly body?: Body;
	/** Whether the request may come without a body; default false. */
	readonly bodyOptional?: boolean;
	/** The handler gets a faulty body too, with `faultsGiven`, and refuses it itself together with what it finds; default false. */
	readonly collectsFaults?: boolean;
	/** Takes messages: refusals are counted, an Idempotency-Key is honoured, and a tenant that is not ACTIVE is refused (when there is a key, by the handler, with `refusalOfTenant`); default false. */
	readonly submits?: boolean;
	/** Changes one thing that carries an ETag: without `If-Match` it is refused (428); the handler refuses a stale one by `refuseStale`. Default false. */
	readonly guarded?: boolean;
	/** Success answers by status; `null`: no body. */
	readonly answers: Readonly<Record<number, TSchema | null>>;
	/** Headers of its own that a success answer carries, and what they say. */
	readonly headers?: Readonly<Record<string, string>>;
	/** Refusals beyond those that every operation of its kind has. */
	readonly errors?: readonly ErrorCode[];
	/** A request body to copy, or an answer where there is no body. */
	readonly example: unknown;
	/** Answers to operations with a body, by status: one for each that has a body of its own. */
	readonly answerExamples?: Readonly<Record<number, unknown>>;
	handle(request: OperationRequest<Static<Body>, Static<Query>>, reply: FastifyReply): unknown;
};

/** Declares an operation; types its handler by its schemas. */
export function operation<Body extends TSchema, Query extends TObject>(declared: Operation<Body, Query>): Operation {
	return declared as unknown as Operation;
}

/** Who calls an operation that needs a credential. */
export function callerOf(request: { readonly caller: Caller | null }): Caller {
	if (request.caller === null) throw new Error('this operation needs a credential, and its route does not ask for one');
	return request.caller;
}

/** The path as the router wants it: an id never holds a colon, and a colon before a verb is doubled. */
export function routePathOf(path: string): string {
	return path.replaceAll(':', '::').replaceAll(/\{(\w+)\}/g, ':$1([^:/]+)');
}

/** The path as a pattern for whole paths. */
export function pathPatternOf(path: string): RegExp {
	return new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^:/]+')}$`);
}

/** Path parameters of an operation with an id. */
export const ID_PARAMS = Type.Object({ id: Type.String({ format: 'uuid', description: 'Its id.' }) });

/** The query of an operation that has none. */
export const NO_QUERY = Type.Object({}, { additionalProperties: false });

/** The schemas of answers; one without a body has none that would be filled in. */
export function schemasOf(answers: Operation['answers']): Record<number, TSchema> {
	return Object.fromEntries(Object.entries(answers).map(([status, schema]) => [status, schema ?? Type.Null({ description: 'Done.' })]));
}

/** Codes that an operation can be refused with: its own and those that come with its kind. */
export function errorsOf(one: Operation): ErrorCode[] {
	return [
		...new Set<ErrorCode>([
			'malformed-request',
			...(one.access === 'public'
				? []
				: (['credential-missing', 'credential-refused', 'capability-missing', 'rate-limited', 'not-found', 'dependency-away'] as const)),
			...(one.body === undefined ? [] : (['body-too-large', 'unsupported-media-type', 'invalid-request', 'overloaded'] as const)),
			...(one.method === 'DELETE' ? (['unsupported-media-type'] as const) : []),
			...(one.submits === true ? (['idempotency-in-flight', 'idempotency-mismatch', 'tenant-not-active', 'quota-exceeded'] as const) : []),
			...(one.guarded === true ? (['precondition-failed', 'precondition-required'] as const) : []),
			...(one.errors ?? []),
			'internal-error',
		]),
	];
}
