import { makeProcessMesh, PRODUCTION_SETTINGS } from '../harness/process-mesh.js';
import { startPulsar } from '../harness/pulsar.js';
import { quantile, type Ratio } from './measure.js';

const WARM_UP = 50;
const MAILS = 400;
/** Far enough apart that every part of the mesh is idle when the next mail comes. */
const PAUSE_MS = 40;
const LIMIT_MS = 20;

/** Ratio 6: an idle mesh of built services on Pulsar, from the 202 in the caller's hands to MAIL FROM at the mail server, one mail at a time. */
export async function benchLatency(server: string): Promise<Ratio> {
	const pulsar = await startPulsar();
	const mesh = await makeProcessMesh({ server, pulsar, built: true, settings: PRODUCTION_SETTINGS });
	try {
		await mesh.startReady('message-api', 'outbox-publisher', 'mail-sender', 'dead-letter');
		await mesh.addServer();
		const accepts: number[] = [];
		const calls: number[] = [];
		for (let n = 0; n < WARM_UP + MAILS; n += 1) {
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
			if (n < WARM_UP) continue;
			accepts.push(answered - began);
			calls.push(Math.max(0, called - answered));
		}
		await mesh.drained();
		return {
			number: 6,
			name: 'idle: accept → provider call through Pulsar, one mail at a time',
			ours: 1_000 / quantile(calls, 0.5),
			limit: 1_000 / LIMIT_MS,
			limitName: `p50 of ${LIMIT_MS} ms`,
			unit: 'calls/s',
			floor: 1,
			goal: 2,
			notes: {
				mails: MAILS,
				'p50 ms': quantile(calls, 0.5).toFixed(1),
				'p99 ms': quantile(calls, 0.99).toFixed(1),
				'worst ms': Math.max(...calls).toFixed(1),
				'accept p50 ms': quantile(accepts, 0.5).toFixed(1),
				'accept p99 ms': quantile(accepts, 0.99).toFixed(1),
			},
		};
	} finally {
		await mesh.close();
		await pulsar.stop();
	}
}
