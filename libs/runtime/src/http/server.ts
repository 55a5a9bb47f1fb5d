import { continueTrace, LIMITS, monotonic, Problem } from '@tidings/model';
import type { Logger, Metrics } from '@tidings/telemetry';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type TSchema, Type } from 'typebox';
import { type Authenticate, type AuthenticateOptions, type Caller, type CredentialSource, createAuthenticate } from './authenticate.js';
import { answerBrokenRequest } from './broken-request.js';
import { requireIfMatch } from './etag.js';
import { readJsonBody } from './json-body.js';
import { type ApiInfo, gatherOpenApi, PROBLEM_SCHEMA } from './openapi.js';
import { ID_PARAMS, NO_QUERY, type Operation, operation, pathPatternOf, routePathOf, schemasOf } from './operation.js';
import { problemOf, renderProblem } from './problem.js';
import { createReadBody } from './read-body.js';
import { serveReference } from './serve-reference.js';
import { traceRequests } from './trace-requests.js';
import { createValidatorCompiler } from './validate.js';

/** What an API server is made of. */
export type HttpServerOptions = {
	readonly log: Logger;
	readonly metrics: Metrics;
	readonly info: ApiInfo;
	readonly operations: readonly Operation[];
	/** Schemas that operations refer to by `$id`. */
	readonly schemas: readonly TSchema[];
	readonly credentials: CredentialSource;
	/** Tokens and the throttle; default: API keys only, and nobody is throttled. */
	readonly callers?: AuthenticateOptions;
	/** Whether an error means that the database is away, so that the caller is told to repeat. */
	readonly isAway: (error: unknown) => boolean;
	/** Bytes of a request body at most; default 40,000,000. */
	readonly bodyLimit?: number;
	/** Bytes of all request bodies at once at most; default 128,000,000. */
	readonly bodiesLimit?: number;
};

/** How long a request may take to arrive in full. */
const REQUEST_TIMEOUT_MS = 120_000;

/** As long as a request line can be: an id that is too long is no other fault than one that is wrong. */
const LONGEST_URL = 16_384;

/** A body that took longer to arrive is judged by who its caller is now: a tenant may be suspended by then, or a key revoked. */
const SLOW_BODY_MS = 1_000;

/** Parsed, a body takes several times its bytes. */
const BODIES_LIMIT = 128_000_000;

/** While the database is away one request tells why; the others have their line as always. */
const AWAY_QUIET_MS = 1_000;

/** On every answer: it is data, for this caller, now. */
const HEADERS = {
	'x-content-type-options': 'nosniff',
	'cache-control': 'no-store',
	'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
};

/** Makes the HTTP face of a service: operations, `GET /openapi.json`, the page `/docs` about them, and a problem for everything else. It does not listen yet. */
export async function createHttpServer(options: HttpServerOptions): Promise<FastifyInstance> {
	const bodyLimit = options.bodyLimit ?? LIMITS.requestBytes;
	const refuse = createRefuse(options);
	const app = fastify({
		logger: false,
		// Its own refusal has no body: ours has.
		http: { requireHostHeader: false },
		routerOptions: { maxParamLength: LONGEST_URL },
		requestTimeout: REQUEST_TIMEOUT_MS,
		return503OnClosing: false,
		forceCloseConnections: 'idle',
		clientErrorHandler: answerBrokenRequest,
		frameworkErrors: (error, request, reply) => refuse(error, request as FastifyRequest, reply as unknown as FastifyReply),
	});
	const operations = [...options.operations, openApiOperation(app)];
	app.setErrorHandler((error, request, reply) => refuse(error, request, reply));
	app.setNotFoundHandler((request, reply) => refuse(wrongPath(request, reply, operations), request, reply));
	await traceRequests(app, operations);
	app.setValidatorCompiler(createValidatorCompiler(options.schemas));
	for (const schema of [...options.schemas, PROBLEM_SCHEMA]) app.addSchema(schema);
	app.removeAllContentTypeParsers();
	app.addContentTypeParser(
		'application/json',
		createReadBody({ bodyLimit, bodiesLimit: options.bodiesLimit ?? BODIES_LIMIT }, readJsonBody),
	);
	app.decorateRequest('caller', null);
	app.decorateRequest('answer', null as unknown as FastifyRequest['answer']);
	app.decorateRequest('bodySha256', null);
	app.decorateRequest('operation', null);
	app.addHook('onRequest', (request, reply, done) => {
		request.answer = reply.raw;
		reply.headers(HEADERS).header('tidings-trace-id', request.trace.traceId);
		if (request.raw.httpVersion === '1.1' && request.raw.headers.host === undefined)
			done(new Problem('malformed-request', 'The header `Host` is missing (RFC 9112).'));
		else if (!isReadable(request.url))
			done(new Problem('malformed-request', 'The query holds a `%` that begins no UTF-8 character (RFC 3986).'));
		// Before the library looks at a body, or asks for one.
		else if (request.is404) done(wrongPath(request, reply, operations));
		else done();
	});
	app.addHook('onResponse', createReport(options));
	await gatherOpenApi(app, options.info, operations);
	await serveReference(app, options.info.title);
	addOperations(app, operations, createAuthenticate(options.credentials, options.callers));
	return app;
}

function addOperations(app: FastifyInstance, operations: readonly Operation[], authenticate: Authenticate): void {
	for (const one of operations) {
		const { access } = one;
		app.route({
			method: one.method,
			url: routePathOf(one.path),
			attachValidation: one.collectsFaults === true,
			schema: {
				operationId: one.operationId,
				querystring: one.query ?? NO_QUERY,
				...(one.path.includes('{id}') ? { params: ID_PARAMS } : {}),
				...(one.body === undefined ? {} : { body: one.bodyOptional === true ? { ...one.body, 'x-optional': true } : one.body }),
				response: schemasOf(one.answers),
			},
			// Before the body is read: a stranger's body is nobody's work.
			onRequest: (request, _reply, done) => {
				request.operation = one;
				if (access === 'public') return done();
				const admit = (caller: Caller): void => {
					request.caller = caller;
					refuseUntimely(request, one, caller);
					done();
				};
				try {
					const caller = authenticate(request, access);
					if (caller instanceof Promise) caller.then(admit).catch(done);
					else admit(caller);
				} catch (error) {
					done(error as Error);
				}
			},
			handler: (request, reply) => {
				const { span } = request;
				const given = request as Parameters<Operation['handle']>[0];
				const handle = (): unknown => {
					if (span === null) return one.handle(given, reply);
					// The step was lost while the body was read, and the caller is known only now.
					span.set({ 'tidings.tenant.id': request.caller?.tenant.id });
					return span.run(() => one.handle(given, reply));
				};
				if (access === 'public' || one.body === undefined || reply.elapsedTime < SLOW_BODY_MS) return handle();
				return askAgain(request, one, authenticate.again).then(handle);
			},
		});
	}
}

/** Judges a request once more by what is known of its caller now. */
async function askAgain(request: FastifyRequest, one: Operation, again: Authenticate['again']): Promise<void> {
	const caller = await again(request, one.access as Exclude<Operation['access'], 'public'>);
	request.caller = caller;
	refuseUntimely(request, one, caller);
}

/** What is known to be refused before the body is read: messages for a tenant that takes none, and a change that does not say what it has seen. */
function refuseUntimely(request: FastifyRequest, one: Operation, { tenant }: Caller): void {
	// With a key it may repeat what was accepted before, and is answered so: the handler looks.
	const refusal = one.submits === true && request.headers['idempotency-key'] === undefined ? refusalOfTenant(tenant) : null;
	if (refusal !== null) throw refusal;
	if (one.guarded === true) requireIfMatch(request);
	if (one.method === 'DELETE' && one.body === undefined) refuseBody(request.headers);
}

/** Why a tenant takes no messages; null when it does. */
export function refusalOfTenant({ status }: Pick<Caller['tenant'], 'status'>): Problem | null {
	if (status === 'ACTIVE') return null;
	const why = status === 'SUSPENDED' ? 'suspended by the operator' : 'being deleted';
	return new Problem('tenant-not-active', `The tenant is ${why}: it takes no messages. Nothing was written.`);
}

/** What would be ignored is refused: somebody may have meant something by it. Bodies of GET are not read at all. */
function refuseBody(headers: FastifyRequest['headers']): void {
	if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
		throw new Problem('malformed-request', 'This operation takes no body: send none.');
}

/** Faults that the schema found in the body of an operation that collects them. Throws what makes the rest pointless: a body that cannot be read, or a wrong query. */
export function faultsGiven(request: { readonly validationError?: unknown }): Problem['faults'] {
	const { validationError: error } = request;
	if (error === undefined) return [];
	if (error instanceof Problem && error.code === 'invalid-request') return error.faults;
	throw error;
}

function createRefuse(options: HttpServerOptions): (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply {
	let quietUntil = 0;
	return (error, request, reply) => {
		const problem = problemOf(error, options.isAway);
		// A request that the server itself could not make sense of has come past no hook.
		request.trace ??= continueTrace(undefined);
		const { traceId } = request.trace;
		const spanId = request.span?.spanId;
		if (problem.code === 'internal-error') options.log.error({ traceId, spanId, err: problem.cause ?? problem }, 'request failed');
		else if (problem.code === 'dependency-away' && monotonic() >= quietUntil) {
			quietUntil = monotonic() + AWAY_QUIET_MS;
			options.log.warn({ traceId, spanId, err: problem.cause }, 'a dependency is away');
		}
		if (request.operation?.submits === true) options.metrics.acceptRefusalsTotal.inc({ reason: problem.code });
		const { status, headers, body } = renderProblem(problem, { instance: request.url.split('?', 1)[0] ?? '', traceId });
		if (status >= 500) request.span?.fail(problem.code);
		// Bytes, so that no charset is added: JSON has none.
		return reply
			.code(status)
			.headers({ ...HEADERS, 'tidings-trace-id': traceId, ...headers })
			.send(Buffer.from(body));
	};
}

/** One line and one measurement for each request. Good answers are logged at `debug` only: the metric counts them. */
function createReport({ log, metrics }: HttpServerOptions): (request: FastifyRequest, reply: FastifyReply, done: () => void) => void {
	return (request, reply, done) => {
		const route = request.operation?.path ?? 'none';
		const { statusCode: status, elapsedTime: ms } = reply;
		metrics.httpRequestDurationSeconds.observe({ method: request.method, route, status }, ms / 1000);
		const level = status >= 500 ? 'error' : status >= 400 ? 'info' : 'debug';
		if (log.isLevelEnabled(level)) {
			const tenantId = request.caller?.tenant.id;
			const spanId = request.span?.spanId;
			log[level](
				{ traceId: request.trace.traceId, spanId, method: request.method, route, status, ms: Math.round(ms * 10) / 10, tenantId },
				'request',
			);
		}
		done();
	};
}

/** Whether a query can be decoded; the parser would take a wrong escape as it stands. */
function isReadable(url: string): boolean {
	const query = url.indexOf('?');
	if (query < 0 || !url.includes('%', query)) return true;
	try {
		decodeURIComponent(url.slice(query));
		return true;
	} catch {
		return false;
	}
}

function wrongPath(request: FastifyRequest, reply: FastifyReply, operations: readonly Operation[]): Problem {
	const path = request.url.split('?', 1)[0] ?? '';
	const there = operations.filter((one) => pathPatternOf(one.path).test(path));
	if (there.length === 0) return new Problem('not-found', 'There is no such path. `GET /openapi.json` lists all, `/docs` shows them.');
	const methods = [...new Set(there.flatMap((one) => (one.method === 'GET' ? ['GET', 'HEAD'] : [one.method])))];
	// The path has the method, and still came here: it holds an id that cannot be one.
	if (methods.includes(request.method)) return new Problem('not-found', 'There is no such thing: the id is not a UUID.');
	const allowed = methods.join(', ');
	reply.header('allow', allowed);
	return new Problem('method-not-allowed', `This path has no ${request.method}; it has ${allowed}.`);
}

function openApiOperation(app: FastifyInstance): Operation {
	let text: string | null = null;
	return operation({
		method: 'GET',
		path: '/openapi.json',
		operationId: 'getOpenApi',
		tag: 'About',
		summary: 'This document',
		access: 'public',
		answers: { 200: Type.Unsafe<object>({ type: 'object', additionalProperties: true, description: 'The OpenAPI document of this API.' }) },
		example: { openapi: '3.1.0' },
		handle: (_request, reply) => {
			text ??= JSON.stringify(app.swagger());
			return reply.header('content-type', 'application/json').send(text);
		},
	});
}
