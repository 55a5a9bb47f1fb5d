import { expect } from '@jest/globals';
import { CALM_SETTINGS } from '../harness/process-mesh.js';
import { arrivedMore, meshOfFile, strayRecords, underLoad } from './kit.js';

// Many processes on the same rows, and all of them replaced one after the other.

const faultTest = meshOfFile();

faultTest('F34 K36 eight mail senders and three publishers on the same rows make one provider call a record', async (mesh) => {
	const senders = Array.from({ length: 8 }, () => ['mail-sender', CALM_SETTINGS] as const);
	const services = await mesh.startReady(...senders, 'outbox-publisher', 'outbox-publisher', 'outbox-publisher');
	const ids = await Promise.all(Array.from({ length: 1_000 }, () => mesh.submitter.submit()));
	await mesh.drained();
	const { rows } = await mesh.db.pool.query<{ attempts: number; workers: number }>(
		'select count(*)::int as attempts, count(distinct worker)::int as workers from delivery_attempt where id = any($1)',
		[ids],
	);
	expect(rows[0]?.attempts).toBe(ids.length);
	expect(mesh.sink.mails).toHaveLength(ids.length);
	// Else nothing was contended for.
	expect(rows[0]?.workers).toBeGreaterThan(1);
	expect(services.every((one) => one.running)).toBe(true);
	expect(await mesh.broken()).toEqual([]);
});

faultTest(
	'a rolling restart of everything under load: callers see only refused or reset connections, each key makes one record, nothing is ambiguous',
	async (mesh) => {
		const senders = [1, 2].map(() => ['mail-sender', CALM_SETTINGS] as const);
		await mesh.startReady('message-api', 'outbox-publisher', 'outbox-publisher', ...senders, 'dead-letter');
		mesh.submitter.forget();
		await underLoad(mesh, async () => {
			for (const service of mesh.services.filter((one) => one.running)) {
				await arrivedMore(mesh, 20);
				expect(await service.term()).toEqual({ code: 0, signal: null });
				service.restart();
				await service.ready();
			}
		});
		await mesh.drained();
		const broken = ['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET', 'EPIPE'];
		expect([...mesh.submitter.met.keys()].filter((what) => !broken.includes(what))).toEqual([]);
		expect(await strayRecords(mesh)).toBe(0);
		const { rows } = await mesh.db.pool.query('select id from delivery_attempt where ambiguous');
		expect(rows).toEqual([]);
		expect(await mesh.broken()).toEqual([]);
	},
);
