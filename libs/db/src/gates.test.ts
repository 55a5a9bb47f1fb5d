import { expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import { eventually } from '../../../test/harness/eventually.js';
import { claim, close, db, ERROR, gate, PACE, publish, published, sender, standing } from '../../../test/harness/gated.js';
import { acceptRecords, newRecord } from '../../../test/harness/records.js';
import { type ClaimedRecord, claimRecords } from './statements/claim-records.js';
import { noteErrors } from './statements/note-errors.js';
import { endTrials, openGates, openRoomy, type Trial } from './statements/open-gates.js';
import { endProbe, takeDueProbes } from './statements/probe-gates.js';
import { wakeGates } from './statements/wake-gates.js';
import { wakeSleepingFlows } from './statements/wake-sleeping-flows.js';
import { inTransaction } from './tx.js';

const WAITS = { status: 'PENDING', waits: 1, burnt: 0, attempts: 0, entry: 'NEW' };

/** The trials that these records are. */
const trialsOf = (records: readonly ClaimedRecord[]): Trial[] =>
	records.map(({ configId, trial }) => ({ configId, until: trial ?? 'none' }));

test('a gate closes once: of several that want it, one has closed it', async () => {
	const closed = await Promise.all(Array.from({ length: 8 }, () => close()));
	expect(closed.flat()).toEqual([sender.configId]);
	expect(await gate()).toMatchObject({
		until: 'infinity',
		reason: 'AUTH',
		detail: '535 5.7.8 no',
		half_open: false,
		failures: 1,
		last_error: ERROR,
	});
});

test('a config whose gate is missing gets one, so that the next attempt can close it', async () => {
	await db.pool.query('delete from gate where id = $1', [sender.configId]);
	expect(await close()).toEqual([]);
	expect(await close()).toEqual([sender.configId]);
});

test('evidence about a config that is just changing closes nothing', async () => {
	const { closing } = await inTransaction(db.pool, async (client) => {
		await client.query('update mail_send_server_config set version = 2 where id = $1', [sender.configId]);
		const closing = close();
		await eventually(async () => (await client.query('select from pg_locks where not granted')).rowCount !== 0, {
			what: 'it to wait for the change',
		});
		return { closing };
	});
	expect(await closing).toEqual([]);
});

test('of those that wait, the one that goes first through a half-open gate is the one that is due longest', async () => {
	const ids = await published(3);
	await close({ reason: 'QUOTA', seconds: 0 });
	await db.pool.query(`update send_state set due_at = now() - interval '1 s' where id = $1`, [ids[1]]);
	expect((await claim(ids)).claimed.map((one) => one.id)).toEqual([ids[1]]);
});

test('evidence about a config that has changed since closes nothing', async () => {
	await db.pool.query('update mail_send_server_config set version = 2 where id = $1', [sender.configId]);
	expect(await close()).toEqual([]);
	expect(await close({ version: 2 })).toEqual([sender.configId]);
});

test("a provider's no takes the place of a full window, and nothing the place of a person's pause", async () => {
	expect(await close({ reason: 'RATE', seconds: 60, error: null })).toEqual([sender.configId]);
	expect(await close({ reason: 'RATE', seconds: 60, error: null })).toEqual([]);
	expect(await close()).toEqual([sender.configId]);
	await db.pool.query(`update gate set reason = 'PAUSED', probe_at = null where id = $1`, [sender.configId]);
	expect(await close({ reason: 'UNREACHABLE' })).toEqual([]);
	expect(await gate()).toMatchObject({ reason: 'PAUSED' });
});

test('F25 what stands behind a closed gate is handed back by the claim: nothing is claimed or burnt, each counts one wait', async () => {
	const ids = await published(3);
	await close();
	const answer = await claim(ids);
	expect([answer.claimed, answer.handedBack.map((one) => one.id).sort()]).toEqual([[], [...ids].sort()]);
	expect(await standing()).toEqual([WAITS, WAITS, WAITS]);
	await wakeGates(db.pool, [sender.configId]);
	expect(await publish()).toEqual([]);
});

test('a full window bars nobody who found room in it', async () => {
	const ids = await published(1);
	await close({ reason: 'RATE', seconds: 60, error: null });
	expect((await claim(ids)).claimed).toHaveLength(1);
});

test('a message that comes a second time from behind a closed gate hands back nothing more', async () => {
	const ids = await published(1);
	await close();
	await claim(ids);
	expect(await claim(ids)).toEqual({ claimed: [], expired: [], handedBack: [] });
	expect(await standing()).toEqual([WAITS]);
});

test('a paused route holds back what every config of it has', async () => {
	const ids = await published(2);
	await db.prisma.gate.create({ data: { id: newId(), tenantId: newId(), kind: 'ROUTE', route: 'mail-send' } });
	await db.pool.query(`update gate set closed_until = 'infinity', reason = 'PAUSED' where route = 'mail-send'`);
	expect((await claim(ids)).handedBack).toHaveLength(2);
	await wakeGates(db.pool, [sender.configId]);
	expect(await publish()).toEqual([]);
	await wakeSleepingFlows(db.pool);
	expect(await publish()).toEqual([]);
	await db.pool.query(`update gate set closed_until = null, reason = null where route = 'mail-send'`);
	await wakeSleepingFlows(db.pool);
	expect(await publish()).toEqual([...ids].sort());
});

test('a half-open gate lets one through until that one has shown something: of two workers, one gets it', async () => {
	const ids = await published(4);
	await close({ reason: 'QUOTA', seconds: 0 });
	const answers = await Promise.all([claim(ids.slice(0, 2)), claim(ids.slice(2))]);
	const claimed = answers.flatMap((one) => one.claimed);
	expect(claimed.map((one) => one.trial)).toEqual([expect.any(String)]);
	expect(answers.flatMap((one) => one.handedBack)).toHaveLength(3);
	expect(await gate()).toMatchObject({ half_open: true, trying: true });
	// Nothing else is published while that one is on its way.
	await wakeGates(db.pool, [sender.configId]);
	expect(await publish()).toEqual([]);
	await endTrials(db.pool, trialsOf(claimed));
	await wakeGates(db.pool, [sender.configId]);
	const next = await publish();
	expect(next).toHaveLength(1);
	const second = (await claim(next)).claimed;
	expect(second).toHaveLength(1);
	// Who comes late neither opens the gate nor ends the trial that is on its way.
	expect(await openGates(db.pool, { trials: trialsOf(claimed), hung: [] })).toEqual([]);
	await endTrials(db.pool, trialsOf(claimed));
	expect(await gate()).toMatchObject({ half_open: true, trying: true });
	expect(await openGates(db.pool, { trials: trialsOf(second), hung: [] })).toEqual([{ ...sender, reason: 'QUOTA' }]);
	await wakeGates(db.pool, [sender.configId]);
	expect(await publish()).toHaveLength(2);
	expect(await gate()).toMatchObject({ until: null, half_open: false, failures: 0 });
});

test('a trial that succeeds while its window is full ends the half-open state, and the window stays full', async () => {
	await close({ reason: 'QUOTA', seconds: 0 });
	const { claimed } = await claim(await published(1));
	await close({ reason: 'RATE', seconds: 60, error: null });
	expect(await openGates(db.pool, { trials: trialsOf(claimed), hung: [] })).toHaveLength(1);
	expect(await gate()).toMatchObject({ reason: 'RATE', half_open: false, trying: null, failures: 0 });
});

test('a claim whose answer was lost gets its trial again', async () => {
	const ids = await published(2);
	await close({ reason: 'QUOTA', seconds: 0 });
	const keys = ids.map((recordId) => ({ recordId, ...sender }));
	const claimant = { channel: 'MAIL', route: 'mail-send', leaseSeconds: 120, worker: 'w', claim: newId() } as const;
	const first = await claimRecords(db.pool, keys, claimant);
	const again = await claimRecords(db.pool, keys, claimant);
	expect(first.claimed.map(({ trial }) => trial)).toEqual([expect.any(String)]);
	expect(trialsOf(again.claimed)).toEqual(trialsOf(first.claimed));
});

test('a trial whose worker died ends with its lease', async () => {
	await close({ reason: 'QUOTA', seconds: 0 });
	await claim(await published(1));
	const more = await acceptRecords(db, [newRecord(sender)]);
	expect((await claim(more)).claimed).toEqual([]);
	await db.pool.query(`update gate set trial_until = now() - interval '1 second'`);
	expect((await claim(more)).claimed).toHaveLength(1);
});

test('only a half-open gate, or one that was closed for silence, is opened by a success', async () => {
	await close();
	const trials = [{ configId: sender.configId, until: new Date().toISOString() }];
	expect(await openGates(db.pool, { trials, hung: [sender.configId] })).toEqual([]);
	await db.pool.query(`update gate set closed_until = null, reason = null`);
	await close({ reason: 'UNREACHABLE' });
	expect(await openGates(db.pool, { trials, hung: [] })).toEqual([]);
	expect(await openGates(db.pool, { trials: [], hung: [sender.configId] })).toHaveLength(1);
});

test('a due probe is given to one prober; a success opens half, a failure waits twice as long', async () => {
	await close();
	expect(await takeDueProbes(db.pool, { limit: 10, leaseSeconds: 60 })).toEqual([]);
	const due = async () => {
		await db.pool.query('update gate set probe_at = now()');
		const taken = await Promise.all([1, 2].map(() => takeDueProbes(db.pool, { limit: 10, leaseSeconds: 60 })));
		return taken.flat();
	};
	const [probe, ...others] = await due();
	if (probe === undefined) throw new Error('no probe');
	expect(others).toEqual([]);
	expect(await endProbe(db.pool, { probe, error: { ...ERROR, text: 'still no' } }, PACE)).toBe(true);
	const failed = await gate();
	expect(failed).toMatchObject({ until: 'infinity', detail: '535 5.7.8 still no', failures: 2 });
	expect(Number(failed['probe'])).toBeGreaterThan(2 * 30 * 0.8 - 5);
	expect(Number(failed['probe'])).toBeLessThan(2 * 30 * 1.2 + 1);
	const [again] = await due();
	if (again === undefined) throw new Error('no probe');
	expect(await endProbe(db.pool, { probe: again, error: null }, PACE)).toBe(true);
	expect(await gate()).toMatchObject({ until: null, reason: null, half_open: true, failures: 2, probe: null });
});

test('the wait for a probe ends its growth at 15 minutes', async () => {
	await db.pool.query('update gate set failures = 500');
	await close();
	const { probe } = await gate();
	expect(Number(probe)).toBeGreaterThan(700);
	expect(Number(probe)).toBeLessThan(1_081);
});

test('a probe that comes back after a person has paused, or the config was changed, writes nothing', async () => {
	await close();
	await db.pool.query('update gate set probe_at = now()');
	const [probe] = await takeDueProbes(db.pool, { limit: 1, leaseSeconds: 60 });
	if (probe === undefined) throw new Error('no probe');
	await db.pool.query(`update gate set reason = 'PAUSED', probe_at = null, version = version + 1`);
	expect(await endProbe(db.pool, { probe, error: null }, PACE)).toBe(false);
	expect(await gate()).toMatchObject({ reason: 'PAUSED', half_open: false });
});

test('the newest no of a config is kept, and keeps no gate waiting', async () => {
	await noteErrors(db.pool, [{ configId: sender.configId, error: ERROR }]);
	expect(await gate()).toMatchObject({ until: null, version: 0, last_error: ERROR });
});

test('a record that is too late waits behind no gate: it ends, and keeps nothing behind it waiting', async () => {
	const ids = await published(2);
	await close({ reason: 'QUOTA', seconds: 0 });
	await db.pool.query(`update send_state set not_after = now() - interval '1 s' where id = $1`, [ids[0]]);
	const { claimed, expired, handedBack } = await claim(ids);
	expect([claimed.map((one) => one.id), expired.map((one) => one.id), handedBack]).toEqual([[ids[1]], [ids[0]], []]);
});

test('a gate that is closed for a full window opens when room is given back; one that is closed for a failure stays', async () => {
	await close({ reason: 'RATE', seconds: 60, error: null });
	expect(await openRoomy(db.pool, [sender.configId])).toEqual([sender.configId]);
	expect(await gate()).toMatchObject({ until: null, reason: null });
	await close();
	expect(await openRoomy(db.pool, [sender.configId])).toEqual([]);
	expect(await gate()).toMatchObject({ reason: 'AUTH' });
});
