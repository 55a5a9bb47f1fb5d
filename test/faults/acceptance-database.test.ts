import { afterAll, expect } from '@jest/globals';
import { startPostgres, type TestPostgres } from '../harness/postgres.js';
import { startProxy, type TcpProxy } from '../harness/tcp-proxy.js';
import { acceptedMore, arrivedMore, meshOfFile, strayRecords, underLoad } from './kit.js';

// PostgreSQL goes away in mid-load, and connections to it break at any byte.

let postgres: TestPostgres;
let proxy: TcpProxy;

const faultTest = meshOfFile(async () => {
	postgres = await startPostgres({ fsync: true });
	return {
		server: postgres.url,
		through: async (real) => {
			const url = new URL(real.databaseUrl);
			proxy = await startProxy({ host: url.hostname, port: Number(url.port) });
			url.port = String(proxy.port);
			return { ...real, databaseUrl: url.href };
		},
	};
});
afterAll(async () => {
	await proxy.close();
	await postgres.stop();
});

faultTest(
	'F17 PostgreSQL restarts and cuts its sessions in mid-load: callers see 503 or a broken connection, no process ends, everything drains',
	async (mesh) => {
		const services = [...mesh.services, ...(await mesh.startReady('outbox-publisher', 'mail-sender', 'dead-letter'))];
		await underLoad(mesh, async () => {
			await arrivedMore(mesh, 50);
			for (const mode of ['fast', 'immediate'] as const) {
				await postgres.restart(mode);
				await acceptedMore(mesh, 50);
				await arrivedMore(mesh, 50);
			}
			for (let round = 0; round < 3; round++) {
				await mesh.db.pool.query(
					`select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'tidings-%' and pid <> pg_backend_pid()`,
				);
				await acceptedMore(mesh, 50);
			}
		});
		await mesh.drained();
		expect(services.map((one) => [one.service, one.running])).toEqual(services.map((one) => [one.service, true]));
		expect(await strayRecords(mesh)).toBe(0);
		expect(await mesh.broken()).toEqual([]);
		process.stdout.write(`F17: ${mesh.submitter.answered.length} accepted, callers met ${JSON.stringify([...mesh.submitter.met])}\n`);
		await Promise.all(services.map((one) => one.ready()));
	},
);

faultTest('F17 a connection that is cut after any number of bytes, also inside COMMIT, costs and doubles nothing', async (mesh) => {
	const services = [...mesh.services.filter((one) => one.running), ...(await mesh.startReady('outbox-publisher', 'mail-sender'))];
	mesh.submitter.forget();
	for (let round = 0; round < 40; round++) {
		// The answer to a COMMIT is lost when its bytes are the ones that are cut down here; its request, when they are cut up there.
		proxy.cutAfter(40 + 97 * (round >> 1), round % 2 === 0 ? 'down' : 'up');
		await Promise.all([1, 2, 3].map(() => mesh.submitter.submit()));
	}
	proxy.heal();
	// Else nothing was cut that matters.
	expect(mesh.submitter.met.get('503')).toBeGreaterThan(5);
	await mesh.drained();
	expect(services.every((one) => one.running)).toBe(true);
	expect(await strayRecords(mesh)).toBe(0);
	expect(await mesh.broken()).toEqual([]);
});
