import { afterEach, expect, test } from '@jest/globals';
import { createMetrics } from '@tidings/telemetry';
import { type AdminServer, createAdminServer } from './health.js';
import type { Part, Phase } from './part.js';

let server: AdminServer | undefined;
afterEach(async () => server?.stop());

const part = (name: string, health?: () => Promise<void>): Part => ({
	name,
	start: async () => {},
	stop: async () => {},
	...(health ? { health } : {}),
});

async function serve(parts: readonly Part[], phase: () => Phase = () => 'ready') {
	const metrics = createMetrics({ service: 'demo', version: '1', processMetrics: false });
	const started = createAdminServer({ parts, metrics, port: 0, host: '127.0.0.1', phase, checkMs: 50 });
	server = started;
	await started.start();
	return (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${started.port()}${path}`, init);
}

test('a service whose parts are all well is ready', async () => {
	const get = await serve([part('postgres', async () => {}), part('poll'), part('broker', async () => {})]);
	const answer = await get('/readyz');
	expect(answer.status).toBe(200);
	expect(answer.headers.get('content-type')).toBe('application/json');
	expect(await answer.json()).toEqual({ status: 'ok', checks: { postgres: 'ok', broker: 'ok' } });
	expect(await (await get('/metrics')).text()).toContain('tidings_dependency_up{dependency="postgres"} 1');
});

test('a part that fails or does not answer makes it not ready, with the reason, and dependency_up tells', async () => {
	const never = new Promise<void>(() => {});
	const get = await serve([
		part('postgres', async () => {
			throw new Error('connection refused');
		}),
		part('broker', () => never),
		part('http', async () => {}),
	]);
	const answer = await get('/readyz');
	expect(answer.status).toBe(503);
	expect(await answer.json()).toEqual({
		status: 'failing',
		checks: { postgres: 'connection refused', broker: 'no answer within 50 ms', http: 'ok' },
	});
	const text = await (await get('/metrics')).text();
	expect(text).toContain('tidings_dependency_up{dependency="postgres"} 0');
	expect(text).toContain('tidings_dependency_up{dependency="broker"} 0');
	expect(text).not.toContain('dependency="http"');
});

test('a part that hangs is not asked again while the first question is open', async () => {
	let asked = 0;
	let release = () => {};
	const get = await serve([
		part('slow', () => {
			asked += 1;
			return new Promise((resolve) => {
				release = resolve;
			});
		}),
	]);
	expect((await get('/readyz')).status).toBe(503);
	expect((await get('/readyz')).status).toBe(503);
	expect(asked).toBe(1);
	release();
	const again = get('/readyz');
	await (await get('/livez')).text();
	release();
	expect((await again).status).toBe(200);
	expect(asked).toBe(2);
});

test.each(['starting', 'draining'] as const)('while %s it lives but is not ready, and no part is asked', async (phase) => {
	let asked = 0;
	const get = await serve(
		[
			part('postgres', async () => {
				asked += 1;
			}),
		],
		() => phase,
	);
	const answer = await get('/readyz');
	expect([answer.status, await answer.json()]).toEqual([503, { status: phase, checks: {} }]);
	expect((await get('/livez')).status).toBe(200);
	expect(asked).toBe(0);
});

test('metrics are Prometheus text; other paths and methods are refused; HEAD has no body', async () => {
	const get = await serve([]);
	const metrics = await get('/metrics?x=1');
	expect(metrics.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
	expect(await metrics.text()).toContain('# TYPE tidings_records_accepted_total counter');
	expect((await get('/')).status).toBe(404);
	const post = await get('/livez', { method: 'POST', body: 'x' });
	expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
	const head = await get('/livez', { method: 'HEAD' });
	expect([head.status, await head.text()]).toEqual([200, '']);
});

test('a taken port rejects the start', async () => {
	await serve([]);
	const metrics = createMetrics({ service: 'demo', version: '1', processMetrics: false });
	const second = createAdminServer({ parts: [], metrics, port: server?.port() ?? 0, host: '127.0.0.1', phase: () => 'ready' });
	await expect(second.start()).rejects.toMatchObject({ code: 'EADDRINUSE' });
});
