import { expect } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import type { ServiceProcess } from '../harness/mesh-process.js';
import { meshOfFile, PATIENCE, strayRecords } from './kit.js';

// 5,000 mails, while message-api, outbox-publisher, mail-sender and dead-letter are killed with -9 in turn, each alive at least three seconds.

const MAILS = 5_000;
const KILLS = 20;
const CALLERS = 8;
const ALIVE_MS = 3_000;

const faultTest = meshOfFile();

/** Kills the service once it has been ready for three seconds, and starts it again. */
async function killAfterAWhile(service: ServiceProcess): Promise<void> {
	await service.ready();
	const readyAt = performance.now();
	await eventually(() => performance.now() - readyAt >= ALIVE_MS, { ...PATIENCE, what: 'three seconds of life' });
	await service.kill();
	service.restart();
}

faultTest(
	'5,000 mails under kill -9 of each service in turn: each is SENT, and arrives once unless its record is ambiguous',
	async (mesh) => {
		const services = [...mesh.services, ...(await mesh.startReady('outbox-publisher', 'mail-sender', 'dead-letter'))];
		const began = performance.now();
		let open = 0;
		const submitMore = async (count: number): Promise<void> => {
			open += count;
			const caller = async (): Promise<void> => {
				while (open-- > 0) await mesh.submitter.submit({}, PATIENCE);
				open = Math.max(0, open);
			};
			await Promise.all(Array.from({ length: CALLERS }, caller));
		};
		for (let kill = 0; kill < KILLS; kill++) {
			const service = services[kill % services.length];
			if (service === undefined) throw new Error('no service');
			await Promise.all([submitMore(MAILS / KILLS), killAfterAWhile(service)]);
		}
		const accepted = performance.now();
		await mesh.drained();
		const { rows } = await mesh.db.pool.query<{ sent: number; ambiguous: number; attempts: number }>(`
		select count(*) filter (where status = 'SENT')::int as sent, count(*) filter (where ambiguous)::int as ambiguous,
			(select count(*)::int from delivery_attempt) as attempts from send_state`);
		const [counts] = rows;
		const seconds = (from: number, to: number): string => `${((to - from) / 1000).toFixed(1)} s`;
		process.stdout.write(
			`kill -9: ${KILLS} kills over ${seconds(began, accepted)}, drained ${seconds(accepted, performance.now())} later; ${mesh.submitter.answered.length} answered, ` +
				`${counts?.sent} SENT, ${mesh.sink.mails.length} mails, ${counts?.attempts} attempts, ${counts?.ambiguous} ambiguous records; callers met ${JSON.stringify([...mesh.submitter.met])}\n`,
		);
		expect(new Set(mesh.submitter.answered).size).toBe(MAILS);
		expect(counts?.sent).toBe(MAILS);
		expect(await strayRecords(mesh)).toBe(0);
		expect(await mesh.broken()).toEqual([]);
	},
);
