import type { Db } from '@tidings/db';
import type { LogLine } from './mesh-process.js';
import type { SinkMail } from './smtp-sink.js';

/** What is looked at: the tables, what callers were told, what the receiving side got, and what the services wrote. */
export type Evidence = {
	readonly db: Db;
	/** Ids that the API answered. */
	readonly answered: readonly string[];
	readonly mails: readonly SinkMail[];
	readonly lines: readonly LogLine[];
	/** What must not appear in a line: parts of addresses, subjects, bodies. */
	readonly secrets: readonly string[];
	/** How often a person had a record sent again, by its id. */
	readonly retries?: ReadonlyMap<string, number>;
};

type Standing = {
	id: string;
	status: string;
	due: boolean;
	stale: boolean;
	attempts: number;
	attemptNo: number;
	budgetUsed: number;
	budgetMax: number;
	ambiguous: number;
	entries: number;
	letters: number;
	lettered: boolean;
};

/**
 * Every promise that is broken once faults are over and all has drained (I1–I6, I10, I13, I14); empty when all hold. The receiving side is the oracle:
 * whom it accepted, and how often, is compared with the tables.
 */
export async function brokenPromises(evidence: Evidence): Promise<string[]> {
	const standings = await readStandings(evidence.db);
	const known = new Map(standings.map((one) => [one.id, one]));
	const lost = evidence.answered.filter((id) => !known.has(id)).map((id) => `I1 ${id} was answered and is not there`);
	return [
		...lost,
		...standings.flatMap(faultsOf),
		...faultsOfMails(known, evidence),
		...(await faultsOfEntries(evidence.db)),
		...(await faultsOfQuotas(evidence.db)),
		...faultsOfLines(evidence),
	];
}

async function readStandings(db: Db): Promise<Standing[]> {
	const { rows } = await db.pool.query<Standing>(`
		select s.id, s.status, s.due_at is not null as due, coalesce(s.lease_until < now(), false) as stale, s.attempt_no as "attemptNo",
			s.budget_used as "budgetUsed", s.budget_max as "budgetMax",
			(select count(*)::int from delivery_attempt a where a.id = s.id) as attempts,
			(select count(*)::int from delivery_attempt a where a.id = s.id and a.ambiguous) as ambiguous,
			(select count(*)::int from outbox_entry o where o.id = s.id) as entries,
			(select count(*)::int from dead_letter_message l where l.record_id = s.id and l.status = 'PENDING') as letters,
			s.status in ('DEAD_LETTER', 'HELD') or (s.status = 'EXPIRED' and r.valid_until is null) as lettered
		from send_state s join send_record r using (id)`);
	return rows;
}

function faultsOf(one: Standing): string[] {
	const open = one.status === 'PENDING' || one.status === 'RETRY';
	return [
		open && !one.due ? 'I1 is open and has no due time' : '',
		one.stale ? 'I1 still stands under a lease that is over' : '',
		one.budgetUsed > one.budgetMax ? `I5 used ${one.budgetUsed} of ${one.budgetMax}` : '',
		one.attempts > one.attemptNo ? `I5 has ${one.attempts} attempts for ${one.attemptNo} claims` : '',
		one.letters === (one.lettered ? 1 : 0) ? '' : `I10 has ${one.letters} open letters`,
		open || one.status === 'SENDING' ? 'I14 has not ended' : '',
		one.entries === 0 || open ? '' : `I14 has ${one.entries} outbox entries`,
	]
		.filter((fault) => fault !== '')
		.map((fault) => `${fault} (${one.id}, ${one.status})`);
}

/** I2, I3, and that a record is SENT only when the sink has it. */
function faultsOfMails(known: ReadonlyMap<string, Standing>, { mails, retries }: Evidence): string[] {
	const faults: string[] = [];
	const accepts = new Map<string, number>();
	const arrived = new Set<string>();
	for (const { messageId, to } of mails) {
		const id = recordOf(messageId);
		arrived.add(id);
		if (!known.has(id)) faults.push(`I3 ${messageId} was accepted and has no record`);
		for (const address of to) accepts.set(`${id} ${address}`, (accepts.get(`${id} ${address}`) ?? 0) + 1);
	}
	for (const [key, count] of accepts) {
		const id = key.slice(0, key.indexOf(' '));
		const allowed = 1 + (known.get(id)?.ambiguous ?? 0) + (retries?.get(id) ?? 0);
		if (count > allowed) faults.push(`I2 ${key} was accepted ${count} times, and ${allowed} are allowed`);
	}
	for (const { id, status } of known.values()) if (status === 'SENT' && !arrived.has(id)) faults.push(`I1 ${id} is SENT and never arrived`);
	return faults;
}

/** The record that a mail was made from. */
function recordOf(messageId: string): string {
	return messageId.slice(1, messageId.indexOf('@'));
}

async function faultsOfEntries(db: Db): Promise<string[]> {
	const { rows } = await db.pool.query<{ status: string; n: number }>(
		'select status, count(*)::int as n from outbox_entry group by status',
	);
	return rows.map(({ status, n }) => `I14 ${n} outbox entries are ${status}`);
}

/** I6: what a bucket says is used is what a recount of its records says. That it is within its cap is a check of the table. */
async function faultsOfQuotas(db: Db): Promise<string[]> {
	const { rows } = await db.pool.query<{ bucket: string; used: number; recounted: number }>(`
		select concat_ws(' ', tenant_id, channel, month) as bucket, coalesce(used, 0)::int as used, coalesce(n, 0)::int as recounted
		from tenant_message_usage full join (
			select case r.scope when 'PLATFORM' then coalesce((select id from tenant where kind = 'PLATFORM'), r.tenant_id) else r.tenant_id end as tenant_id,
				r.channel, date_trunc('month', r.created_at at time zone 'UTC')::date as month, count(*) as n
			from send_record r join send_recipient p using (id) group by 1, 2, 3
		) as recount using (tenant_id, channel, month)
		where used is distinct from n`);
	return rows.map(({ bucket, used, recounted }) => `I6 ${bucket} has used ${used}, and its records say ${recounted}`);
}

/** I4: the test triggers refuse an illegal move, and the service that tried it says so. I13: nothing of a person is in a line. */
function faultsOfLines({ lines, secrets }: Evidence): string[] {
	return lines.flatMap((line) => {
		const text = JSON.stringify(line);
		return [
			/no move leads|: version \d+ to \d+ on the way/.test(text) ? `I4 ${text}` : '',
			...secrets.filter((secret) => text.includes(secret)).map((secret) => `I13 "${secret}" in ${text}`),
		].filter((fault) => fault !== '');
	});
}
