import autocannon from 'autocannon';
import { createDatabase, type TestDatabase } from '../harness/database.js';
import { type Child, startChild } from './child.js';
import { eachWay } from './limits.js';
import { mailOf } from './mail.js';
import { median, type Ratio } from './measure.js';

const SECONDS = 8;
const ROUNDS = 5;

type Worker = { api: string; idle: string; apiKey: string };
type Run = { rate: number; p50: number; p99: number };
type Api = Worker & { readonly child: Child; readonly database: TestDatabase };

/** Ratio 1: one mail a request, 50 connections, durable, against a route of the same server with the same credential and schema that does nothing. */
export async function benchAccept(server: string): Promise<Ratio> {
	const ours: Run[] = [];
	const limited: Run[] = [];
	const limits: Run[] = [];
	const free = await startApi(server);
	const bound = await startApi(server, 'limited');
	const body = JSON.stringify({ to: ['ann@example.com'], ...mailOf(1) });
	for (const { api, idle, apiKey } of [free, bound]) {
		await post(api, apiKey, body, 2);
		await post(idle, apiKey, body, 2);
	}
	for (let round = 0; round < ROUNDS; round += 1) {
		limits.push(await post(free.idle, free.apiKey, body, SECONDS));
		const { without, within } = await eachWay(round, async (isBound) => {
			const { api, apiKey } = isBound ? bound : free;
			return await post(api, apiKey, body, SECONDS);
		});
		ours.push(without);
		limited.push(within);
	}
	for (const { child, database } of [free, bound]) {
		await child.end();
		await database.drop();
	}
	const p = (runs: readonly Run[], key: 'p50' | 'p99'): number => median(runs.map((run) => run[key]));
	return {
		number: 1,
		name: 'HTTP accept, one mail a request, 50 connections, durable',
		ours: median(ours.map((run) => run.rate)),
		limited: median(limited.map((run) => run.rate)),
		limit: median(limits.map((run) => run.rate)),
		limitName: 'the same server, a route that does nothing',
		unit: 'requests/s',
		floor: 0.3,
		goal: 0.45,
		notes: {
			rounds: ROUNDS,
			'p50 ms': p(ours, 'p50'),
			'p99 ms': p(ours, 'p99'),
			'p99 / p50 (goal ≤ 3)': Number((p(ours, 'p99') / p(ours, 'p50')).toFixed(2)),
			'limit p50 ms': p(limits, 'p50'),
			'p99 ms with limits and quota': p(limited, 'p99'),
		},
	};
}

async function startApi(server: string, ...limited: readonly string[]): Promise<Api> {
	const database = await createDatabase(server);
	const child = startChild('api-worker.ts', database.url, ...limited);
	return { ...(await child.next<Worker>()), child, database };
}

async function post(origin: string, apiKey: string, body: string, seconds: number): Promise<Run> {
	const result = await autocannon({
		url: `${origin}/v1/mails`,
		method: 'POST',
		headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
		body,
		connections: 50,
		duration: seconds,
		// In threads of its own, so that the load does not wait for this process.
		workers: 1,
	});
	const refused = result.non2xx + result.errors;
	if (refused > 0) throw new Error(`${refused} requests were not accepted`);
	return { rate: result['2xx'] / result.duration, p50: result.latency.p50, p99: result.latency.p99 };
}
