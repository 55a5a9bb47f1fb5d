import { expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import { eventually } from '../../../test/harness/eventually.js';
import { claim, close, db, publish, published, sender, standing } from '../../../test/harness/gated.js';
import { acceptRecords, newRecord } from '../../../test/harness/records.js';
import { type HandBackKey, handBack } from './statements/hand-back.js';
import { findMessage } from './statements/list-messages.js';
import { openChanged } from './statements/open-changed.js';
import { takeEntries } from './statements/take-entries.js';
import { wakeGates } from './statements/wake-gates.js';
import { wakeSleepingFlows } from './statements/wake-sleeping-flows.js';
import { inTransaction } from './tx.js';

const WAITS = { status: 'PENDING', waits: 1, burnt: 0, attempts: 0, entry: 'NEW' };

test('a line that is handed back waits again, and what was claimed meanwhile stays claimed', async () => {
	const ids = await published(3);
	await claim(ids.slice(0, 1));
	expect(
		(
			await handBack(
				db.pool,
				ids.map((recordId) => ({ recordId, tenantId: sender.tenantId, pause: null })),
			)
		)
			.map((one) => one.id)
			.sort(),
	).toEqual(ids.slice(1).sort());
	expect(
		await handBack(
			db.pool,
			ids.map((recordId) => ({ recordId, tenantId: newId(), pause: null })),
		),
	).toEqual([]);
	expect(await standing()).toEqual([{ status: 'SENDING', waits: 0, burnt: 0, attempts: 1, entry: null }, WAITS, WAITS]);
	await wakeGates(db.pool, [sender.configId]);
	expect(await publish()).toEqual(ids.slice(1).sort());
});

test('a full window that opens by itself lets its flow be published again', async () => {
	const ids = await published(1);
	await close({ reason: 'RATE', seconds: 0.001, error: null });
	await handBack(db.pool, [{ recordId: ids[0] ?? '', tenantId: sender.tenantId, pause: null }]);
	await wakeGates(db.pool, [sender.configId]);
	expect(await publish()).toEqual(ids);
});

const pausing = (recordId: string, configVersion = 1): HandBackKey => ({
	recordId,
	tenantId: sender.tenantId,
	pause: { seconds: 3_600, configId: sender.configId, configVersion },
});

/** Which of these are published when everybody looks. */
async function dueOf(ids: readonly string[]): Promise<string[]> {
	await wakeGates(db.pool, [sender.configId]);
	const due = await publish();
	return ids.filter((id) => due.includes(id));
}

test('what is too large for the rest of a window waits for the next one by itself; the others of its flow go on', async () => {
	const ids = await published(3);
	const [large = '', ...others] = ids;
	await handBack(db.pool, [pausing(large), ...others.map((recordId) => ({ recordId, tenantId: sender.tenantId, pause: null }))]);
	expect(await dueOf(ids)).toEqual(others);
	const { rows } = await db.pool.query(
		'select extract(epoch from held_until - now())::float8 as seconds, due_at <= now() as due from outbox_entry where id = $1',
		[large],
	);
	expect(rows[0]).toEqual({ seconds: expect.any(Number), due: true });
	expect(rows[0].seconds).toBeGreaterThan(3_500);
	// Its flow sleeps until then, and nothing wakes it before.
	expect(await wakeSleepingFlows(db.pool)).toBe(0);
	expect(await findMessage(db.pool, sender.tenantId, large)).toMatchObject({
		status: 'PENDING',
		waits: 1,
		waitsFor: { what: 'SERVER', reason: 'RATE', detail: expect.stringMatching(/too little/), until: expect.stringMatching(/Z$/) },
	});
});

test('what was held comes before what was accepted after it', async () => {
	const [large = ''] = await published(1);
	await handBack(db.pool, [pausing(large)]);
	await acceptRecords(db, [newRecord(sender), newRecord(sender)]);
	await db.pool.query(`update outbox_entry set held_until = now() where id = $1`, [large]);
	await wakeGates(db.pool, [sender.configId]);
	const options = { shares: { urgent: 9, normal: 9, bulk: 9 }, window: 9, leaseSeconds: 30 };
	const taken = (await takeEntries(db.pool, options)).map((one) => one.id);
	expect([taken.length, taken[0]]).toEqual([3, large]);
});

test('what was too large by limits that are gone is due at once: by a change before it is handed back, after it, and between', async () => {
	const [before = '', after = '', between = ''] = await published(3);
	const change = 'update mail_send_server_config set version = version + 1 where id = $1';
	await db.pool.query(change, [sender.configId]);
	await handBack(db.pool, [pausing(before), pausing(after, 2)]);
	expect(await dueOf([before, after])).toEqual([before]);
	const { back } = await inTransaction(db.pool, async (client) => {
		await client.query(change, [sender.configId]);
		const back = handBack(db.pool, [pausing(between, 2)]);
		await eventually(async () => (await client.query(`select from pg_locks where not granted`)).rowCount !== 0, {
			what: 'it to wait for the change',
		});
		await openChanged(client, { id: sender.configId, tenantId: sender.tenantId });
		return { back };
	});
	await back;
	expect(await dueOf([after, between])).toEqual([after, between]);
});
