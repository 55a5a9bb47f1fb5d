import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DEPENDENCIES, type Dependency, type Metrics } from '@tidings/telemetry';
import type { Part, Phase } from './part.js';
import { reasonOf } from './reason-of.js';
import { within } from './within.js';

/** The server of the admin port, as a part, and the port that it got. */
export type AdminServer = Part & { port(): number };

/** What it answers from. */
export type AdminServerOptions = {
	/** Whose `health` `/readyz` asks. */
	readonly parts: readonly Part[];
	readonly metrics: Metrics;
	/** 0 is any free one. */
	readonly port: number;
	/** Address to listen on; default: all. */
	readonly host?: string;
	readonly phase: () => Phase;
	/** How long each part may take to answer; default 2000. */
	readonly checkMs?: number;
};

type Answer = { readonly status: number; readonly type: string; readonly body: string; readonly allow?: string };

/**
 * The admin port: `/livez` (200 while the process lives), `/readyz` (200 when every part is well, else 503; body `{status, checks}` with `ok` or a
 * reason for each part) and `/metrics` (Prometheus text). It is not ready before the start is over, nor while the service drains.
 */
export function createAdminServer(options: AdminServerOptions): AdminServer {
	const ask = createAsk(options);
	const server = createServer((request, response) => {
		answer(request, ask, options).then(
			(result) => send(request, response, result),
			() => send(request, response, { status: 500, type: 'text/plain', body: 'internal error\n' }),
		);
	});
	return {
		name: 'admin',
		start: () =>
			new Promise((resolve, reject) => {
				server.once('error', reject);
				server.listen({ port: options.port, host: options.host }, () => {
					server.off('error', reject);
					resolve();
				});
			}),
		stop: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
		port: () => (server.address() as AddressInfo).port,
	};
}

async function answer(request: IncomingMessage, ask: () => Promise<Record<string, string>>, options: AdminServerOptions): Promise<Answer> {
	const path = (request.url ?? '/').split('?', 1)[0];
	if (path !== '/livez' && path !== '/readyz' && path !== '/metrics') return { status: 404, type: 'text/plain', body: 'not found\n' };
	if (request.method !== 'GET' && request.method !== 'HEAD') {
		return { status: 405, type: 'text/plain', body: 'method not allowed\n', allow: 'GET, HEAD' };
	}
	switch (path) {
		case '/livez':
			return json(200, { status: 'ok' });
		case '/metrics':
			// What a scrape shows of the dependencies is of now, whether somebody else asks /readyz or not.
			if (options.phase() === 'ready') await ask();
			return { status: 200, type: options.metrics.registry.contentType, body: await options.metrics.registry.metrics() };
		case '/readyz': {
			if (options.phase() !== 'ready') return json(503, { status: options.phase(), checks: {} });
			const checks = await ask();
			const well = Object.values(checks).every((check) => check === 'ok');
			return json(well ? 200 : 503, { status: well ? 'ok' : 'failing', checks });
		}
	}
}

/** Asks every part at once. A part that has not answered an earlier question is not asked again, so probes do not pile up on one that hangs. */
function createAsk(options: AdminServerOptions): () => Promise<Record<string, string>> {
	const pending = new Map<string, Promise<string>>();
	const askable = options.parts.filter((part) => part.health !== undefined);
	for (const part of askable) report(part.name, false, options.metrics);

	const askPart = async (part: Part): Promise<[string, string]> => {
		const asked = pending.get(part.name) ?? healthOf(part).finally(() => pending.delete(part.name));
		pending.set(part.name, asked);
		const checkMs = options.checkMs ?? 2_000;
		const result = await within(asked, checkMs);
		const check = result.late ? `no answer within ${checkMs} ms` : result.value;
		report(part.name, check === 'ok', options.metrics);
		return [part.name, check];
	};
	return async () => Object.fromEntries(await Promise.all(askable.map(askPart)));
}

async function healthOf(part: Part): Promise<string> {
	try {
		await part.health?.();
		return 'ok';
	} catch (error) {
		return reasonOf(error);
	}
}

function report(name: string, up: boolean, metrics: Metrics): void {
	if (isDependency(name)) metrics.dependencyUp.set({ dependency: name }, up ? 1 : 0);
}

function isDependency(name: string): name is Dependency {
	return (DEPENDENCIES as readonly string[]).includes(name);
}

function json(status: number, body: object): Answer {
	return { status, type: 'application/json', body: `${JSON.stringify(body)}\n` };
}

function send(request: IncomingMessage, response: ServerResponse, result: Answer): void {
	response.writeHead(result.status, {
		'content-type': result.type,
		'cache-control': 'no-store',
		'content-length': Buffer.byteLength(result.body),
		...(result.allow === undefined ? {} : { allow: result.allow }),
	});
	response.end(request.method === 'HEAD' ? undefined : result.body);
}
