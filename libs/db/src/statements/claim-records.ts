import type { Channel, Lane } from '@tidings/model';
import type { Mailbox } from '../accepting.js';
import type { Queryable } from '../client.js';
import { moveRecords, recordsAt } from '../transition.js';
import type { Expired } from './expire-records.js';
import { haltedAmong } from './halted-tenants.js';
import { SUPERSEDED, supersedePoison } from './supersede-poison.js';

/** A recipient as a claim returns it. */
export type ClaimedRecipient = {
	readonly n: number;
	readonly role: 'to' | 'cc' | 'bcc';
	readonly address: string;
	readonly name: string | null;
	readonly outcome: string;
};

/** A record in the hands of the worker that claimed it: what is needed to send it and to settle it. */
export type ClaimedRecord = {
	readonly id: string;
	readonly tenantId: string;
	readonly version: number;
	/** The fence: everything that is written for this attempt names it. */
	readonly attemptNo: number;
	readonly budgetUsed: number;
	readonly budgetMax: number;
	readonly quotaWaitedSeconds: number | null;
	readonly hold: boolean;
	readonly claimedAt: Date;
	readonly publishedAt: Date | null;
	readonly type: string;
	readonly lane: Lane;
	readonly configId: string;
	/** 0: the config is gone. */
	readonly configVersion: number;
	readonly createdAt: Date;
	readonly traceId: string;
	readonly traceparent: string;
	readonly subject: string;
	readonly text: string | null;
	readonly html: string | null;
	readonly from: Mailbox;
	readonly replyTo: Mailbox | null;
	readonly headers: Readonly<Record<string, string>>;
	readonly attachments: number;
	/** In order of `n`, all of them: the headers show those whose outcome is known already. */
	readonly recipients: readonly ClaimedRecipient[];
};

/** The table that holds a channel's provider configs: `version` and `on_ambiguous` are read from it at the claim. */
const CONFIG_TABLE: Record<Channel, string> = { MAIL: 'mail_send_server_config' };

const statement = (channel: Channel): string => {
	const lease = 'now() + make_interval(secs => $3)';
	const move = moveRecords('claim', {
		row: 's',
		to: { sql: `case when s.not_after > now() then 'SENDING' else 'EXPIRED' end` },
		lease,
		worker: '$4',
	});
	return `
		with found as materialized (
			select s.id, s.status || '' = 'SENDING' as again from unnest($1::uuid[], $2::uuid[]) as m (id, tenant_id) join send_state s using (id, tenant_id)
			where (${recordsAt('claim', 's')} and s.due_at <= now() and s.tenant_id <> all(${haltedAmong('$2::uuid[]')})) or (s.status || '' = 'SENDING' and s.claimed_by = $4 and s.lease_until > now())
			order by s.id for update of s
		),
		due as materialized (select id from found where not again),
		entry as (delete from outbox_entry where id = any(array(select id from due)) returning id, published_at),
		claimed as (
			update send_state s set ${move.set},
				attempt_no = s.attempt_no + case when s.not_after > now() then 1 else 0 end,
				hold = coalesce((select c.on_ambiguous = 'hold' from send_record r join ${CONFIG_TABLE[channel]} c on c.id = r.config_id where r.id = s.id), false),
				reason = case when s.not_after > now() then null else 'too late' end
			where s.id = any(array(select id from due)) and ${move.guard}
			returning s.*
		),
		kept as (
			-- No condition on the row itself: it was locked above, perhaps after the claim whose answer was lost, and then its older version is what this statement sees first.
			update send_state s set lease_until = ${lease} where s.id = any(array(select id from found where again)) returning s.*
		),
		owed as materialized (
			select c.*, r.channel, r.type from claimed c join send_record r using (id) where c.status = 'EXPIRED' and r.valid_until is null
		),
		${supersedePoison('owed')},
		letter as (
			insert into dead_letter_message (id, tenant_id, source, record_id, channel, type, category, error)
			select uuid_v7(), c.tenant_id, 'EXPIRED', c.id, c.channel, c.type, c.last_category, 'not sent within its default age'
			from owed c where ${SUPERSEDED}
			on conflict do nothing
			returning record_id
		)
		select c.id, c.tenant_id, c.status, c.version, c.attempt_no, c.budget_used, c.budget_max, c.hold, c.claimed_at, entry.published_at,
			extract(epoch from now() - c.quota_since)::int as quota_waited, r.type, r.lane, r.config_id, coalesce(config.version, 0) as config_version, c.id in (select record_id from letter) as lettered, r.created_at, r.trace_id, r.traceparent,
			p.subject, p.body_text, p.body_html, p.from_address, p.from_name, p.reply_to, p.headers, p.attachments, q.recipients
		from (select * from claimed union all select * from kept) c join send_record r using (id) join send_payload p using (id) left join ${CONFIG_TABLE[channel]} config on config.id = r.config_id left join entry on entry.id = c.id
			cross join lateral (
				select json_agg(json_build_array(n, role, address, name, outcome) order by n) as recipients from send_recipient where id = c.id
			) q`;
};

const TEXTS = new Map<Channel, string>();

type Row = {
	id: string;
	tenant_id: string;
	status: string;
	version: number;
	attempt_no: number;
	budget_used: number;
	budget_max: number;
	hold: boolean;
	claimed_at: Date;
	published_at: Date | null;
	quota_waited: number | null;
	type: string;
	lane: Lane;
	config_id: string;
	config_version: number;
	lettered: boolean;
	created_at: Date;
	trace_id: string;
	traceparent: string;
	subject: string;
	body_text: string | null;
	body_html: string | null;
	from_address: string;
	from_name: string | null;
	reply_to: Mailbox | null;
	headers: Record<string, string>;
	attachments: number;
	recipients: [number, 'to' | 'cc' | 'bcc', string, string | null, string][];
};

/** Which message asks for which record. */
export type ClaimKey = { readonly recordId: string; readonly tenantId: string };

/** How long a claim holds, and for whom. `claim` names this one claim and no other, ever: a repeated call with the same name finds what its first one got. */
export type Claimant = { readonly channel: Channel; readonly leaseSeconds: number; readonly worker: string; readonly claim: string };

/**
 * Claims the records that are due and removes their outbox entries in the same statement. What is not due, not open, another tenant's, a halted tenant's or unknown is left out: a stale duplicate claims nothing.
 * What is too late becomes EXPIRED here and stands in `expired`. Rows are locked in id order, so batches never dead-lock each other.
 * When the answer to a claim was lost, the same call once more, with the same `claim`, answers what that one has claimed under a renewed lease: nobody was told of those records, so nothing was sent.
 */
export async function claimRecords(
	pool: Queryable,
	keys: readonly ClaimKey[],
	claimant: Claimant,
): Promise<{ claimed: ClaimedRecord[]; expired: Expired[] }> {
	const text = TEXTS.get(claimant.channel) ?? statement(claimant.channel);
	TEXTS.set(claimant.channel, text);
	const { rows } = await pool.query<Row>({
		name: `claim-${claimant.channel}`,
		text,
		values: [keys.map((key) => key.recordId), keys.map((key) => key.tenantId), claimant.leaseSeconds, claimedBy(claimant)],
	});
	return {
		claimed: rows.filter((row) => row.status === 'SENDING').map(toClaimed),
		expired: rows
			.filter((row) => row.status === 'EXPIRED')
			.map((row) => ({ id: row.id, attemptNo: row.attempt_no, lettered: row.lettered })),
	};
}

/** What `claimed_by` holds: the worker, then the claim; whoever shows the worker takes what stands before the blank. */
function claimedBy({ worker, claim }: Claimant): string {
	return `${worker} ${claim}`;
}

function toClaimed(row: Row): ClaimedRecord {
	return {
		id: row.id,
		tenantId: row.tenant_id,
		version: row.version,
		attemptNo: row.attempt_no,
		budgetUsed: row.budget_used,
		budgetMax: row.budget_max,
		quotaWaitedSeconds: row.quota_waited,
		hold: row.hold,
		claimedAt: row.claimed_at,
		publishedAt: row.published_at,
		type: row.type,
		lane: row.lane,
		configId: row.config_id,
		configVersion: row.config_version,
		createdAt: row.created_at,
		traceId: row.trace_id,
		traceparent: row.traceparent,
		subject: row.subject,
		text: row.body_text,
		html: row.body_html,
		from: { address: row.from_address, name: row.from_name },
		replyTo: row.reply_to,
		headers: row.headers,
		attachments: row.attachments,
		recipients: row.recipients.map(([n, role, address, name, outcome]) => ({ n, role, address, name, outcome })),
	};
}
