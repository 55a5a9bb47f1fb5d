import autocannon from 'autocannon';
import { createDatabase } from '../harness/database.js';
import { startChild } from './child.js';
import { mailOf } from './mail.js';
import { median, type Ratio } from './measure.js';

const SECONDS = 8;
const ROUNDS = 3;

type Worker = { api: string; idle: string; apiKey: string };
type Run = { rate: number; p50: number; p99: number };

/** Ratio 1: one mail a request, 50 connections, durable, against a route of the same server with the same credential and schema that does nothing. */
export async function benchAccept(server: string): Promise<Ratio> {
	const ours: Run[] = [];
	const limits: Run[] = [];
	const database = await createDatabase(server);
	const child = startChild('api-worker.ts', database.url);
	const worker = await child.next<Worker>();
	const body = JSON.stringify({ to: ['ann@example.com'], ...mailOf(1) });
	await post(worker.api, worker.apiKey, body, 2);
	await post(worker.idle, worker.apiKey, body, 2);
	for (let round = 0; round < ROUNDS; round += 1) {
		limits.push(await post(worker.idle, worker.apiKey, body, SECONDS));
		ours.push(await post(worker.api, worker.apiKey, body, SECONDS));
	}
	await child.end();
	await database.drop();
	const p = (runs: readonly Run[], key: 'p50' | 'p99'): number => median(runs.map((run) => run[key]));
	return {
		number: 1,
		name: 'HTTP accept, one mail a request, 50 connections, durable',
		ours: median(ours.map((run) => run.rate)),
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
		},
	};
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
