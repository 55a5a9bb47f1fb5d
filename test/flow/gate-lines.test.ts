import { createServer, type Server, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { createMemoryWindows } from '@tidings/limits';
import { eventually } from '../harness/eventually.js';
import { makeSender } from '../harness/records.js';
import {
	accept,
	allWaits,
	closes,
	count,
	gateOf,
	mesh,
	reach,
	rows,
	sender,
	setServer,
	sink,
	toClose,
	toStop,
	WITHIN,
	wake,
	work,
} from './gates-kit.js';

// What waits for a provider config without its provider's fault: full rate windows, Redis away, a pause; and what one that hangs or is dead costs the others.

test('a minute’s limit sends that many, claims no more, and hands the rest back once; the next minute goes on', async () => {
	let clock = 0;
	const windows = createMemoryWindows();
	// Its minutes turn when the test says so.
	const limits = {
		...windows,
		take: (requests: Parameters<typeof windows.take>[0]) =>
			windows.take(requests.map((one) => ({ ...one, configId: `${one.configId} ${clock}` }))),
	};
	await setServer('rate_per_minute = 10');
	const ids = await accept(2_000);
	await work({ limits });
	await closes('RATE');
	await allWaits(ids);
	const first = await rows(ids);
	expect(sink.mails).toHaveLength(10);
	expect(first.reduce((sum, row) => sum + row.attempts, 0)).toBe(10);
	// What was published went back once; what was not was never touched.
	expect(Math.max(...first.map((row) => row.waits))).toBe(1);
	expect(first.reduce((sum, row) => sum + row.waits, 0)).toBeLessThanOrEqual(400);
	expect(first.reduce((sum, row) => sum + row.burnt, 0)).toBe(0);
	clock += 1;
	await mesh.db.pool.query(`update gate set closed_until = now() where id = $1`, [sender.configId]);
	await wake();
	await eventually(() => sink.mails.length === 20, { ...WITHIN, what: 'ten more' });
	await closes('RATE');
	await allWaits(ids);
	expect((await rows(ids)).reduce((sum, row) => sum + row.attempts, 0)).toBe(20);
});

test('F21 while the windows cannot be counted nothing is sent, tried or burnt; then all goes, without a restart', async () => {
	let away = true;
	let asked = 0;
	const windows = createMemoryWindows();
	const limits = {
		...windows,
		take: async (requests: Parameters<typeof windows.take>[0]) => {
			asked += 1;
			if (away) throw new Error('Redis cannot count the rate limits: it is away');
			return await windows.take(requests);
		},
	};
	const from = mesh.lines.length;
	const ids = await accept(30);
	// All slots are taken and more wait for so long that a provider would count as hanging: it was not even asked.
	await work({ limits, hungMs: 100 });
	await eventually(() => asked >= 4, { ...WITHIN, what: 'the windows to be asked again and again' });
	expect(mesh.lines.slice(from).filter((line) => String(line['msg']).includes('rate limits is away'))).toHaveLength(1);
	expect(await gateOf()).toMatchObject({ closed: false, reason: null });
	expect(await count(ids, (row) => row.status === 'PENDING' && row.attempts === 0 && row.waits === 0)).toBe(30);
	expect(sink.mails).toEqual([]);
	away = false;
	await reach(ids, 'SENT');
	expect(sink.mails).toHaveLength(30);
});

test('F21 a sender that stops while the windows are away lets its messages go', async () => {
	const limits = { ...createMemoryWindows(), take: () => Promise.reject(new Error('away')) };
	const ids = await accept(5);
	toStop.push(await mesh.publish({ healSeconds: 1 }));
	const stopping = await mesh.send({ limits });
	await eventually(
		async () => (await mesh.db.pool.query('select from outbox_entry where id = any($1) and taken', [ids])).rowCount === 5,
		WITHIN,
	);
	await stopping.stop(5);
	expect(await count(ids, (row) => row.status === 'PENDING' && row.attempts === 0)).toBe(5);
	toStop.push(await mesh.send());
	await reach(ids, 'SENT');
});

/** A server that takes connections and never says a word. */
async function silentServer(): Promise<number> {
	const sockets = new Set<Socket>();
	const server: Server = createServer((socket) => {
		sockets.add(socket);
		socket.on('error', () => undefined);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	toClose.push({
		close: () => {
			for (const socket of sockets) socket.destroy();
			return new Promise((resolve) => server.close(resolve));
		},
	});
	const address = server.address();
	return typeof address === 'object' && address !== null ? address.port : 0;
}

test('F38 a server that hangs costs the others nothing: its gate closes, its line goes back, and theirs arrive meanwhile', async () => {
	const hanging = await makeSender(mesh.db, { port: await silentServer() });
	const stuck = await accept(100, hanging);
	await work({ slots: 5, hungMs: 300, probeSeconds: 600, readSeconds: 60 });
	await eventually(async () => (await count(stuck, (row) => row.status === 'SENDING')) === 5, { ...WITHIN, what: 'all slots to be held' });
	const others = await accept(100);
	await reach(others, 'SENT');
	await closes('UNREACHABLE', hanging);
	await eventually(
		async () => (await mesh.db.pool.query('select from outbox_entry where id = any($1) and taken', [stuck])).rowCount === 0,
		{
			...WITHIN,
			what: 'its line to be handed back',
		},
	);
	expect(await count(stuck, (row) => row.status === 'SENDING')).toBe(5);
	expect(await count(stuck, (row) => row.status === 'PENDING' && row.waits === 1 && row.attempts === 0)).toBe(95);
	expect((await gateOf(hanging)).detail).toMatch(/All 5 connections/);
	for (const one of toStop.splice(0).reverse()) await one.stop(1);
	await mesh.db.pool.query(`update send_state set lease_until = now() where id = any($1) and status = 'SENDING'`, [stuck]);
});

test('F38 a slow server that answers after all opens its gate again', async () => {
	const hang = sink.script({ stage: 'DOT', answer: { kind: 'hang' } });
	const ids = await accept(20);
	await work({ slots: 5, hungMs: 200, probeSeconds: 600 });
	await closes('UNREACHABLE');
	hang.release();
	await reach(ids, 'SENT');
	expect(sink.mails).toHaveLength(20);
});

test('F37 a tenant with a dead host and a long line keeps no other waiting', async () => {
	const dead = await makeSender(mesh.db, { port: 1 });
	await accept(1_000, dead);
	await work({ probeSeconds: 600 });
	const others = await accept(10);
	await reach(others, 'SENT');
	await closes('UNREACHABLE', dead);
	await mesh.db.pool.query(`delete from outbox_entry where tenant_id = $1`, [dead.tenantId]);
	await mesh.db.pool.query(`delete from send_state where tenant_id = $1`, [dead.tenantId]);
});

test('a paused config keeps what it has until it is resumed', async () => {
	await mesh.db.pool.query(`update gate set closed_until = 'infinity', reason = 'PAUSED' where id = $1`, [sender.configId]);
	const ids = await accept(10);
	const other = await makeSender(mesh.db, { host: sink.host, port: sink.port });
	await work();
	await reach(await accept(5, other), 'SENT');
	expect(await count(ids, (row) => row.status === 'PENDING' && row.attempts === 0)).toBe(10);
	await mesh.db.pool.query(`update gate set closed_until = null, reason = null where id = $1`, [sender.configId]);
	await wake();
	await reach(ids, 'SENT');
});

test.each([
	['its config', `update gate set closed_until = 'infinity', reason = 'PAUSED' where id = $1`],
	[
		'its route',
		`insert into gate (id, tenant_id, kind, route, closed_until, reason) select uuid_v7(), tenant_id, 'ROUTE', 'mail-send', 'infinity', 'PAUSED' from gate where id = $1`,
	],
])(
	'what is published already when %s is paused is claimed by nobody: it goes back, waits, and is sent when that is resumed',
	async (_, pause) => {
		toStop.push(await mesh.publish());
		const ids = await accept(10);
		const published = async () =>
			(await mesh.db.pool.query(`select from outbox_entry where id = any($1) and status = 'PUBLISHED'`, [ids])).rowCount === 10;
		await eventually(published, { ...WITHIN, what: 'all to be published' });
		await mesh.db.pool.query(pause, [sender.configId]);
		toStop.push(await mesh.send());
		await allWaits(ids);
		expect(await count(ids, (row) => row.status === 'PENDING' && row.attempts === 0 && row.waits === 1)).toBe(10);
		expect(sink.mails).toEqual([]);
		await mesh.db.pool.query(`update gate set closed_until = null, reason = null where reason = 'PAUSED'`);
		await wake();
		await reach(ids, 'SENT');
		expect(sink.mails).toHaveLength(10);
	},
);
