import { makeProcessMesh, PRODUCTION_SETTINGS, type ProcessMesh } from '../harness/process-mesh.js';
import { startPulsar } from '../harness/pulsar.js';
import { eachWay, setLimits } from './limits.js';
import { quantile, type Ratio } from './measure.js';

const WARM_UP = 50;
const ROUNDS = 8;
/** With limits and without, in each round. */
const MAILS = 50;
/** Far enough apart that every part of the mesh is idle when the next mail comes. */
const PAUSE_MS = 40;
const LIMIT_MS = 20;

/** Ratio 6: an idle mesh of built services on Pulsar, from the 202 in the caller's hands to MAIL FROM at the mail server, one mail at a time. */
export async function benchLatency(server: string, redisUrl: string): Promise<Ratio> {
	const pulsar = await startPulsar();
	const mesh = await makeProcessMesh({ server, pulsar, built: true, settings: { ...PRODUCTION_SETTINGS, REDIS_URL: redisUrl } });
	try {
		await mesh.startReady('message-api', 'outbox-publisher', 'mail-sender', 'dead-letter');
		await mesh.addServer();
		await sendSlowly(mesh, WARM_UP);
		const free: Times[] = [];
		const bound: Times[] = [];
		for (let round = 0; round < ROUNDS; round += 1) {
			const { without, within } = await eachWay(round, async (isBound) => {
				await setLimits(mesh.db.pool, isBound);
				return await sendSlowly(mesh, MAILS);
			});
			free.push(...without);
			bound.push(...within);
		}
		await mesh.drained();
		const calls = free.map((one) => one.call);
		const boundCalls = bound.map((one) => one.call);
		const accepts = free.map((one) => one.accept);
		return {
			number: 6,
			name: 'idle: accept → provider call through Pulsar, one mail at a time',
			ours: 1_000 / quantile(calls, 0.5),
			limited: 1_000 / quantile(boundCalls, 0.5),
			limit: 1_000 / LIMIT_MS,
			limitName: `p50 of ${LIMIT_MS} ms`,
			unit: 'calls/s',
			floor: 1,
			goal: 2,
			notes: {
				mails: ROUNDS * MAILS,
				'p50 ms': quantile(calls, 0.5).toFixed(1),
				'p99 ms': quantile(calls, 0.99).toFixed(1),
				'worst ms': Math.max(...calls).toFixed(1),
				'accept p50 ms': quantile(accepts, 0.5).toFixed(1),
				'accept p99 ms': quantile(accepts, 0.99).toFixed(1),
				'p50 ms with limits and quota': quantile(boundCalls, 0.5).toFixed(1),
				'p99 ms with limits and quota': quantile(boundCalls, 0.99).toFixed(1),
			},
		};
	} finally {
		await mesh.close();
		await pulsar.stop();
	}
}

/** Milliseconds until the caller was answered, and from there to MAIL FROM. */
type Times = { readonly accept: number; readonly call: number };

/** Sends mails one at a time through a mesh that is idle before each. */
async function sendSlowly(mesh: ProcessMesh, mails: number): Promise<Times[]> {
	const times: Times[] = [];
	for (let n = 0; n < mails; n += 1) {
		await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
		const script = mesh.sink.script({ stage: 'MAIL', times: 1, answer: { kind: 'hang' } });
		const began = performance.now();
		let called = 0;
		const call = script.met().then(() => {
			called = performance.now();
			script.release();
		});
		await mesh.submitter.submit();
		const answered = performance.now();
		await call;
		times.push({ accept: answered - began, call: Math.max(0, called - answered) });
	}
	return times;
}
