import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import type { MailSenderOptions } from '@tidings/mail-sender';
import { eventually } from '../harness/eventually.js';
import { type Mesh, makeMesh, type Running } from '../harness/mesh.js';
import { acceptRecords, makeSender, newRecord, recipient, type Sender } from '../harness/records.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';
import { brokenLaws, standingOf } from './standing.js';

/** Long enough for a busy machine. */
export const WITHIN = { within: 25_000 };

/** A mesh for the whole file; for each test a sink of its own and a tenant that sends through it. */
export let mesh: Mesh;
export let sink: SmtpSink;
export let sender: Sender;
/** What the test has started, and what it has opened: ended after it, the newest first. */
export const toStop: Running[] = [];
export const toClose: { close(): unknown }[] = [];

beforeAll(async () => {
	mesh = await makeMesh();
});
beforeEach(async () => {
	sink = await startSmtpSink();
	sender = await makeSender(mesh.db, { host: sink.host, port: sink.port });
});
afterEach(async () => {
	for (const one of toStop.splice(0).reverse()) await one.stop();
	const { rows: some } = await mesh.db.pool.query<{ id: string }>(
		`select id from send_state where tenant_id = $1 and status <> 'SENDING' limit 50`,
		[sender.tenantId],
	);
	for (const { id } of some) expect(brokenLaws(await standingOf(mesh.db, id))).toEqual([]);
	await sink.close();
	for (const one of toClose.splice(0)) await one.close();
});
afterAll(async () => {
	await mesh.close();
});

/** A publisher and so many senders, whose probes come quickly. */
export async function work(change: Partial<MailSenderOptions> = {}, senders = 1): Promise<void> {
	toStop.push(await mesh.publish());
	for (let n = 0; n < senders; n++) toStop.push(await mesh.send({ probeSeconds: 0.2, ...change }));
}

/** Accepts records, and tells the publishers. */
export async function accept(count: number, from = sender): Promise<string[]> {
	const ids = await acceptRecords(
		mesh.db,
		Array.from({ length: count }, () => newRecord(from)),
	);
	await wake();
	return ids;
}

/** Accepts one record for so many recipients, and tells the publishers. */
export async function acceptFor(recipients: number): Promise<string[]> {
	const to = Array.from({ length: recipients }, (_, n) => ({ ...recipient(`ann${n}@example.com`), n }));
	const ids = await acceptRecords(mesh.db, [{ ...newRecord(sender), recipients: to }]);
	await wake();
	return ids;
}

/** Lets every flow look now. */
export async function wake(): Promise<void> {
	await mesh.db.pool.query('update flow set next_at = now()');
	await mesh.db.pool.query('notify tidings_outbox');
}

/** How a record stands: what it burnt, its claims, its waits, and the attempts that are written down. */
export type Row = { id: string; status: string; burnt: number; attempts: number; waits: number; tried: number };
/** How records stand. */
export async function rows(ids: readonly string[]): Promise<Row[]> {
	const { rows: found } = await mesh.db.pool.query<Row>(
		`select id, status, budget_used as burnt, attempt_no as attempts, waits, (select count(*)::int from delivery_attempt a where a.id = s.id) as tried
		from send_state s where id = any($1) order by id`,
		[ids],
	);
	return found;
}

/** How many of these records stand so. */
export async function count(ids: readonly string[], fits: (row: Row) => boolean): Promise<number> {
	return (await rows(ids)).filter(fits).length;
}

/** Resolves when so many of these records, default all, have this status. */
export async function reach(ids: readonly string[], status: string, wanted = ids.length): Promise<void> {
	await eventually(async () => (await count(ids, (row) => row.status === status)) === wanted, {
		...WITHIN,
		what: `${wanted} records to be ${status}`,
	});
}

/** How the gate of a config stands. */
export async function gateOf({
	configId,
} = sender): Promise<{ closed: boolean; reason: string | null; detail: string | null; half_open: boolean }> {
	const { rows: found } = await mesh.db.pool.query(
		'select coalesce(closed_until > now(), false) as closed, reason, detail, half_open from gate where id = $1',
		[configId],
	);
	return found[0];
}

/** Resolves when the gate of a config is closed for this reason. */
export const closes = (reason: string, from = sender): Promise<unknown> =>
	eventually(async () => (await gateOf(from)).reason === reason, { ...WITHIN, what: `the gate to close for ${reason}` });

/** Nothing is in anybody's hands: what is not finished waits in the outbox. */
export const allWaits = (ids: readonly string[]): Promise<unknown> =>
	eventually(
		async () => {
			const { rows: found } = await mesh.db.pool.query<{ n: number }>(
				`select (select count(*) from send_state where id = any($1) and status = 'SENDING') + (select count(*) from outbox_entry where id = any($1) and taken) as n`,
				[ids],
			);
			return Number(found[0]?.n) === 0;
		},
		{ ...WITHIN, what: 'everything to wait in the outbox' },
	);

/** All of these have been published, and nobody has claimed them. */
export const allPublished = (ids: readonly string[]): Promise<unknown> =>
	eventually(
		async () =>
			(await mesh.db.pool.query(`select from outbox_entry where id = any($1) and status = 'PUBLISHED'`, [ids])).rowCount === ids.length,
		{ ...WITHIN, what: 'all to be published' },
	);

/** Changes a mail server as the API does, but tells no gate of it. */
export const setServer = (set: string, from = sender): Promise<unknown> =>
	mesh.db.pool.query(`update mail_send_server_config set ${set}, version = version + 1 where id = $1`, [from.configId]);

/** A server at a port of its own that can be gone, and come back. */
export async function wantedSink(options: Parameters<typeof startSmtpSink>[0]): Promise<SmtpSink> {
	const one = await startSmtpSink(options);
	toClose.push(one);
	return one;
}
