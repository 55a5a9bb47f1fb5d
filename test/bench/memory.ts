import { readFileSync } from 'node:fs';
import type { ServiceProcess } from '../harness/mesh-process.js';
import { makeProcessMesh, PRODUCTION_SETTINGS, type ProcessMesh } from '../harness/process-mesh.js';
import { startPulsar } from '../harness/pulsar.js';
import { median, type Ratio } from './measure.js';

const SERVICES = ['message-api', 'outbox-publisher', 'mail-sender', 'dead-letter'] as const;
const LIMIT_MB = 180;
/** How many callers submit one mail after the other, each pausing so long between two: a steady load that the machine can carry for long. */
const CALLERS = 4;
const PAUSE_MS = 20;
const SAMPLE_MS = 5_000;

/** Ratio 8: resident memory of each built service on Pulsar: idle, and over `minutes` of steady load. The largest idle one counts; the notes say each, with its growth under load. */
export async function benchMemory(server: string, redisUrl: string, minutes: number): Promise<Ratio> {
	const pulsar = await startPulsar();
	const mesh = await makeProcessMesh({ server, pulsar, built: true, settings: { ...PRODUCTION_SETTINGS, REDIS_URL: redisUrl } });
	try {
		const services = await mesh.startReady(...SERVICES);
		await mesh.addServer();
		await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
		const idle = services.map(rssMb);
		const samples = await loadFor(mesh, services, minutes * 60_000);
		await mesh.drained();
		const notes = services.map(({ service }, index) => {
			const series = samples.map((sample) => sample[index] ?? Number.NaN);
			const third = Math.ceil(series.length / 3);
			const grown = median(series.slice(-third)) - median(series.slice(third, 2 * third));
			return [
				`${service} MB`,
				`${idle[index]} idle, ${Math.max(...series)} at most under load, ${grown >= 0 ? '+' : ''}${grown} from the middle to the last third`,
			];
		});
		return {
			number: 8,
			name: 'memory of each service, idle',
			ours: 1 / Math.max(...idle),
			limit: 1 / LIMIT_MB,
			limitName: `${LIMIT_MB} MB`,
			unit: '1/MB',
			floor: 1,
			goal: LIMIT_MB / 150,
			notes: { minutes, mails: mesh.submitter.answered.length, ...Object.fromEntries(notes) },
		};
	} finally {
		await mesh.close();
		await pulsar.stop();
	}
}

/** Submits for so long; what each service took at every sample. */
async function loadFor(mesh: ProcessMesh, services: readonly ServiceProcess[], ms: number): Promise<number[][]> {
	const end = performance.now() + ms;
	const call = async (): Promise<void> => {
		while (performance.now() < end) {
			await mesh.submitter.submit();
			await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
		}
	};
	const samples: number[][] = [];
	const sampling = setInterval(() => samples.push(services.map(rssMb)), SAMPLE_MS);
	await Promise.all(Array.from({ length: CALLERS }, call));
	clearInterval(sampling);
	return samples;
}

function rssMb({ pid }: ServiceProcess): number {
	const kb = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
	return Math.round(Number(kb) / 1024);
}
