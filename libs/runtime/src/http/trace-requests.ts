import { continueTrace, isUuid, readTraceparent, type Trace } from '@tidings/model';
import { currentSpan, isTracing } from '@tidings/telemetry';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Operation, routePathOf } from './operation.js';

/**
 * Makes each request a SERVER step of the trace that its `traceparent` names, called like `POST /v1/mails`, when traces are exported. To be called before hooks and routes are added,
 * so that they are inside of the step, and after the handler of unknown paths is set, for which the library would make a second one.
 */
export async function traceRequests(app: FastifyInstance, operations: readonly Operation[]): Promise<void> {
	app.decorateRequest('span', null);
	app.decorateRequest('trace', null as unknown as Trace);
	if (isTracing()) {
		const { FastifyOtelInstrumentation } = await import('@fastify/otel');
		const paths = new Map(operations.map((one) => [routePathOf(one.path), one.path]));
		const instrumentation = new FastifyOtelInstrumentation({
			instrumentHandler: false,
			instrumentHooks: false,
			recordExceptions: false,
			requestHook: (span, request) => {
				const path = paths.get(request.routeOptions.url ?? '');
				span.updateName(path === undefined ? request.method : `${request.method} ${path}`);
				if (path !== undefined) span.setAttribute('http.route', path);
				span.setAttribute('url.path', safePathOf(request, path));
			},
		});
		await app.register(instrumentation.plugin());
		// It would put an error's text into the step, which may quote what the caller sent, and call a caller's mistake an error of ours.
		app.addHook('onRoute', (route) => {
			delete route.onError;
		});
	}
	app.addHook('onRequest', (request, _reply, done) => {
		request.span = currentSpan();
		request.trace = traceOf(request);
		done();
	});
}

/** Where a request stands in its trace: at its step, or at one that continues its `traceparent` and that nobody records. */
function traceOf({ span, headers }: FastifyRequest): Trace {
	if (span !== null) return { traceId: readTraceparent(span.traceparent)?.traceId ?? '', traceparent: span.traceparent };
	const { traceparent } = headers;
	return continueTrace(typeof traceparent === 'string' ? traceparent : undefined);
}

/** The path without what a caller may have put into it by mistake: an address in the query, or in the place of an id. */
function safePathOf(request: FastifyRequest, path: string | undefined): string {
	if (path === undefined) return '';
	const { id } = request.params as { id?: string };
	return id !== undefined && isUuid(id) ? path.replace('{id}', id) : path;
}
