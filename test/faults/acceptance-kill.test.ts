import { expect } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import type { ServiceProcess } from '../harness/mesh-process.js';
import { acceptedMore, meshOfFile, PATIENCE, strayRecords } from './kit.js';

// 5,000 mails, while message-api, outbox-publisher, mail-sender and dead-letter are killed with -9 in turn, each alive at least three seconds.

const MAILS = 5_000;
const KILLS = 20;
const CALLERS = 10;
const ALIVE_MS = 3_000;
const LIMIT_MS = 480_000;

// A server that thinks, as real ones do: at any moment some mails are in its hands.
const faultTest = meshOfFile(async () => ({ sink: { thinkMs: 60 } }));

/** Resolves when a service that was just started is ready and has lived for three more seconds. */
function aliveForAWhile(service: ServiceProcess): Promise<void> {
	const alive = async (): Promise<void> => {
		await service.ready();
		const readyAt = performance.now();
		await eventually(() => performance.now() - readyAt >= ALIVE_MS, { ...PATIENCE, what: 'three seconds of life' });
	};
	const promise = alive();
	// It is awaited later, or not at all when the test has failed before.
	promise.catch(() => undefined);
	return promise;
}

faultTest(
	'F10 5,000 mails under kill -9 of each service in turn: each is SENT, and arrives once unless its record is ambiguous',
	async (mesh) => {
		const services = [...mesh.services, ...(await mesh.startReady('outbox-publisher', 'mail-sender', 'dead-letter'))];
		const alive = services.map(aliveForAWhile);
		const began = performance.now();
		const submitMany = async (count: number): Promise<void> => {
			const caller = async (): Promise<void> => {
				for (let n = 0; n < count / CALLERS; n++) await mesh.submitter.submit({}, PATIENCE);
			};
			await Promise.all(Array.from({ length: CALLERS }, caller));
		};
		for (let kill = 0; kill < KILLS; kill++) {
			const service = services[kill % services.length];
			if (service === undefined) throw new Error('no service');
			await alive[kill % services.length];
			// Killed in the middle of its work: while mails are accepted, published, sent.
			const mails = submitMany(MAILS / KILLS);
			await acceptedMore(mesh, MAILS / KILLS / 2);
			await service.kill();
			service.restart();
			alive[kill % services.length] = aliveForAWhile(service);
			await mails;
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
		// Else it was killed only while it had nothing to do.
		expect(counts?.ambiguous).toBeGreaterThan(0);
		await Promise.all(alive);
		expect(await mesh.broken()).toEqual([]);
	},
	LIMIT_MS,
);
