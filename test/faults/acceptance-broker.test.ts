import { afterAll, expect } from '@jest/globals';
import { LANES, topicOf } from '@tidings/model';
import { eventually } from '../harness/eventually.js';
import type { ProcessMesh } from '../harness/process-mesh.js';
import { startPulsar, type TestPulsar } from '../harness/pulsar.js';
import { startProxy, type TcpProxy } from '../harness/tcp-proxy.js';
import { acceptedMore, arrivedMore, meshOfFile, PATIENCE, underLoad } from './kit.js';

// The broker goes away in every way; accepting goes on, and everything drains by itself.

let pulsar: TestPulsar;
let proxy: TcpProxy;

const faultTest = meshOfFile(async () => {
	pulsar = await startPulsar();
	return {
		pulsar,
		through: async (real) => {
			proxy = await startProxy({ host: '127.0.0.1', port: Number(new URL(real.brokerUrl).port) });
			return { ...real, brokerUrl: `ws://127.0.0.1:${proxy.port}` };
		},
	};
});
afterAll(async () => {
	await proxy.close();
	await pulsar.stop();
});

/** What an outage must not have done: made a row DEAD, counted against one, or flooded the log. */
async function marksOfOutage(mesh: ProcessMesh): Promise<{ dead: number; warnings: number[] }> {
	const { rows } = await mesh.db.pool.query<{ n: number }>(
		`select count(*)::int as n from outbox_entry where status = 'DEAD' or refusals > 0`,
	);
	const publishers = mesh.services.filter((one) => one.service === 'outbox-publisher' && one.running);
	return {
		dead: rows[0]?.n ?? 0,
		warnings: publishers.map((one) => one.said('due outbox entries wait: their route cannot be published to').length),
	};
}

async function holds(mesh: ProcessMesh): Promise<void> {
	expect((await marksOfOutage(mesh)).warnings.every((count) => count <= 1)).toBe(true);
	await mesh.drained();
	expect(await marksOfOutage(mesh)).toMatchObject({ dead: 0 });
	expect(mesh.services.filter((one) => !one.running && one.said('cannot start').length > 0)).toEqual([]);
	expect(await mesh.broken()).toEqual([]);
}

faultTest(
	'F11 the broker is away when everything starts: accepting goes on, rows stay NEW, and it all drains when the broker comes',
	async (mesh) => {
		await pulsar.kill();
		const services = (['outbox-publisher', 'mail-sender', 'dead-letter'] as const).map((name) => mesh.start(name));
		await Promise.all(services.map((one) => one.started()));
		await Promise.all(Array.from({ length: 100 }, () => mesh.submitter.submit()));
		const [publisher] = services;
		await eventually(() => (publisher?.said('due outbox entries wait: their route cannot be published to').length ?? 0) > 0, {
			...PATIENCE,
			what: 'a warning',
		});
		const { rows } = await mesh.db.pool.query('select status, count(*)::int as n from outbox_entry group by 1');
		expect(rows).toEqual([{ status: 'NEW', n: 100 }]);
		expect((await Promise.all(services.map((one) => one.admin('/readyz')))).map((answer) => answer.status)).toEqual([503, 503, 503]);
		await pulsar.restart();
		await holds(mesh);
		await Promise.all(services.map((one) => one.ready()));
	},
);

faultTest(
	'F11 the broker is killed in mid-load and stays away for a while: nothing is lost, nothing is DEAD, one warning',
	async (mesh) => {
		await mesh.startReady('outbox-publisher', 'mail-sender', 'dead-letter');
		await underLoad(mesh, async () => {
			await arrivedMore(mesh, 50);
			await pulsar.kill();
			await acceptedMore(mesh, 300);
			await pulsar.restart();
			await arrivedMore(mesh, 50);
		});
		expect((await marksOfOutage(mesh)).warnings).toEqual([1]);
		// Every service says each reason once, however often it has tried to connect.
		for (const one of mesh.services) {
			const reasons = one.said('the broker is away').map((line) => JSON.stringify(line['err']).replace(/"stack".*|\d+/g, ''));
			expect(reasons).toEqual([...new Set(reasons)]);
		}
		await holds(mesh);
	},
);

faultTest('F11 the broker answers nothing while its sockets stay open: the same', async (mesh) => {
	await mesh.startReady('outbox-publisher', 'mail-sender', 'dead-letter');
	const [publisher] = mesh.services.filter((one) => one.service === 'outbox-publisher' && one.running);
	await underLoad(mesh, async () => {
		await arrivedMore(mesh, 50);
		proxy.blackhole(true);
		await eventually(async () => (await publisher?.admin('/readyz'))?.status === 503, { ...PATIENCE, what: 'the publisher to notice' });
		await acceptedMore(mesh, 50);
		proxy.heal();
		await arrivedMore(mesh, 50);
	});
	await holds(mesh);
});

faultTest('F12 K24 a publish that is stored but whose answer never comes is published again, and delivered once', async (mesh) => {
	const [publisher] = await mesh.startReady('outbox-publisher');
	await mesh.submitter.submit();
	await eventually(async () => (await mesh.backlog()) === 1, { ...PATIENCE, what: 'a message' });
	proxy.halfOpen('down');
	const ids = await Promise.all(Array.from({ length: 20 }, () => mesh.submitter.submit()));
	await eventually(async () => (await mesh.backlog()) > 1, { ...PATIENCE, what: 'messages that are stored without an answer' });
	await eventually(async () => (await publisher?.admin('/readyz'))?.status === 503, {
		...PATIENCE,
		what: 'the publisher to give up waiting',
	});
	proxy.heal();
	await eventually(async () => (await mesh.backlog()) > ids.length + 1, { ...PATIENCE, what: 'messages to be published again' });
	await mesh.startReady('mail-sender');
	await holds(mesh);
	expect(mesh.sink.mails.filter((mail) => ids.some((id) => mail.messageId.includes(id)))).toHaveLength(ids.length);
});

faultTest('the topics are deleted in mid-load: they are made again, and what was in them is published again', async (mesh) => {
	await mesh.startReady('outbox-publisher', 'mail-sender', 'dead-letter');
	await underLoad(mesh, async () => {
		await arrivedMore(mesh, 50);
		for (const lane of LANES) {
			const topic = `persistent/${mesh.namespace}/${topicOf('mail-send', lane)}`;
			const { status } = await fetch(`${pulsar.webUrl}/admin/v2/${topic}?force=true`, { method: 'DELETE' });
			expect(status).toBe(204);
		}
		await arrivedMore(mesh, 200);
	});
	await holds(mesh);
});
