import { expect, test } from '@jest/globals';
import { createMemoryWindows, type RateWindows, type WindowRequest } from '@tidings/limits';
import { eventually } from '../harness/eventually.js';
import {
	accept,
	acceptFor,
	allPublished,
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
	toStop,
	WITHIN,
	wake,
	work,
} from './gates-kit.js';

// What waits for a provider config without its provider's fault: full rate windows, and while they cannot be counted.

/** How much of the day is used. */
async function usedToday(windows: RateWindows): Promise<number | undefined> {
	const { tenantId, configId } = sender;
	return (await windows.read({ channel: 'MAIL', tenantId, configId, perMinute: null, perDay: 1_000_000 }))[0]?.used;
}

/** Windows that turn when the test says so. */
function turningWindows(): { limits: RateWindows; turn(): void } {
	const windows = createMemoryWindows();
	let turns = 0;
	const take = (name: string, requests: readonly WindowRequest[]) =>
		windows.take(
			name,
			requests.map((one) => ({ ...one, configId: `${one.configId} ${turns}` })),
		);
	return {
		limits: { ...windows, take },
		turn: () => {
			turns += 1;
		},
	};
}

test('a minute’s limit sends that many, claims no more, and hands the rest back once; the next minute goes on', async () => {
	const { limits, turn } = turningWindows();
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
	turn();
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
		take: async (name: string, requests: readonly WindowRequest[]) => {
			asked += 1;
			if (away) throw new Error('Redis cannot count the rate limits: it is away');
			return await windows.take(name, requests);
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

test('a mail that is too large for the rest of the day keeps no smaller one waiting', async () => {
	const windows = createMemoryWindows();
	await setServer('daily_limit = 10');
	const small = await accept(4);
	await work({ limits: windows });
	await reach(small, 'SENT');
	const [large = ''] = await acceptFor(8);
	await eventually(async () => (await rows([large]))[0]?.waits === 1, { ...WITHIN, what: 'the large one to be handed back' });
	const more = await accept(6);
	await reach(more, 'SENT');
	expect(await gateOf()).toMatchObject({ closed: false });
	const last = await accept(3);
	await closes('RATE');
	await allWaits([large, ...last]);
	expect(await count([large, ...last], (row) => row.status === 'PENDING' && row.attempts === 0 && row.burnt === 0)).toBe(4);
});

test('room that was taken for what a pause, a duplicate or the door turned away is given back', async () => {
	const windows = createMemoryWindows();
	await setServer('daily_limit = 1000');
	toStop.push(await mesh.publish());
	const ids = await accept(10);
	await allPublished(ids);
	await mesh.db.pool.query(`update gate set closed_until = 'infinity', reason = 'PAUSED' where id = $1`, [sender.configId]);
	toStop.push(await mesh.send({ limits: windows, probeSeconds: 600 }));
	await allWaits(ids);
	await eventually(async () => (await usedToday(windows)) === 0, { ...WITHIN, what: 'the room to be given back' });

	sink.script({ stage: 'CONN', answer: { kind: 'refuse', code: 554, text: 'no mail service here' } });
	await mesh.db.pool.query(`update gate set closed_until = null, reason = null where id = $1`, [sender.configId]);
	await wake();
	await closes('CONFIG');
	await allWaits(ids);
	await eventually(async () => (await usedToday(windows)) === 0, { ...WITHIN, what: 'what the door turned away to cost nothing' });
});

test('who waits in a line asks by the limits that are, not by those that were', async () => {
	const windows = createMemoryWindows();
	await setServer('daily_limit = 1');
	const hang = sink.script({ stage: 'DOT', answer: { kind: 'hang' } });
	const [first = ''] = await accept(1);
	await work({ limits: windows, slots: 1, freshMs: 0 });
	await eventually(async () => (await rows([first]))[0]?.status === 'SENDING', { ...WITHIN, what: 'the first to be under way' });
	const others = await accept(5);
	await allPublished(others);
	await setServer('daily_limit = null');
	hang.release();
	await reach([first, ...others], 'SENT');
	expect((await rows(others)).map((row) => row.waits)).toEqual([0, 0, 0, 0, 0]);
});

test('the day opens again when what had shut it turns out to have used no room', async () => {
	const windows = createMemoryWindows();
	await setServer('daily_limit = 2');
	sink.script({ stage: 'CONN', times: 2, answer: { kind: 'close' } });
	toStop.push(await mesh.publish());
	const ids = await accept(3);
	await allPublished(ids);
	// Two take all the room, and the third finds none; then their connections break.
	toStop.push(await mesh.send({ limits: windows }));
	await eventually(() => sink.mails.length === 2, { ...WITHIN, what: 'as many mails as the day allows' });
	expect(await usedToday(windows)).toBe(2);
});

test('a large mail keeps its place: in the next window it goes before all that came after it', async () => {
	const { limits, turn } = turningWindows();
	await setServer('daily_limit = 10');
	await work({ limits });
	await reach(await accept(1), 'SENT');
	const [large = ''] = await acceptFor(10);
	await eventually(async () => (await rows([large]))[0]?.waits === 1, { ...WITHIN, what: 'the large one to be handed back' });
	const small = await accept(400);
	await closes('RATE');
	await allWaits([large, ...small]);
	turn();
	await mesh.db.pool.query('update outbox_entry set held_until = now() where id = $1', [large]);
	await mesh.db.pool.query('update gate set closed_until = null, reason = null where id = $1', [sender.configId]);
	await wake();
	await reach([large], 'SENT');
	expect(await count(small, (row) => row.status === 'SENT')).toBe(9);
});
