import { connect, createServer, type Server, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { makeSender } from '../harness/records.js';
import {
	accept,
	allPublished,
	allWaits,
	closes,
	count,
	gateOf,
	mesh,
	reach,
	sender,
	setServer,
	sink,
	toClose,
	toStop,
	WITHIN,
	wake,
	work,
} from './gates-kit.js';

// What one config that hangs, is dead or is paused costs the others.

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

/** A server before the sink that takes so many connections at once, and turns the next away (RFC 5321 §3.8). */
async function fewConnections(most: number, refusal: string): Promise<number> {
	let open = 0;
	const server = createServer((socket) => {
		socket.on('error', () => undefined);
		if (open >= most) {
			socket.end(`${refusal}\r\n`);
			return;
		}
		open += 1;
		const to = connect(sink.port, sink.host);
		to.on('error', () => socket.destroy());
		socket.pipe(to).pipe(socket);
		socket.on('close', () => {
			open -= 1;
			to.destroy();
		});
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	toClose.push({ close: () => server.close() });
	const address = server.address();
	return typeof address === 'object' && address !== null ? address.port : 0;
}

test.each(['421 4.7.0 Too many concurrent connections from your account', '421 4.3.2 try again later'])(
	'a provider that takes fewer connections at once than a sender has slots, and says %s, is used with those: nothing is closed or burnt',
	async (refusal) => {
		await setServer(`port = ${await fewConnections(5, refusal)}`);
		const ids = await accept(200);
		await work({ probeSeconds: 600 });
		await reach(ids, 'SENT');
		expect(sink.mails).toHaveLength(200);
		expect(await count(ids, (row) => row.burnt > 0)).toBe(0);
		expect((await gateOf()).closed).toBe(false);
	},
);

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
		await allPublished(ids);
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
