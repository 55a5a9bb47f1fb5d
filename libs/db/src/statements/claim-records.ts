import type { Channel, Lane, Route } from '@tidings/model';
import type { Mailbox } from '../accepting.js';
import type { Queryable } from '../client.js';
import { moveRecords, recordsAt } from '../transition.js';
import type { Expired } from './expire-records.js';
import { haltedAmong } from './halted-tenants.js';
import { type HandedBack, handBackSql, IS_CLOSED } from './hand-back.js';
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
	/** Its gate is half open, and this is the one that goes through to see: the end of its lease, which names the trial. Null: the gate is open. */
	readonly trial: string | null;
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

/** Who claims has found room in the rate windows: a window that is full now is closed to those who come after. */
const IS_BARRED = `(${IS_CLOSED} and g.reason <> 'RATE')`;

const statement = (channel: Channel): string => {
	const lease = 'now() + make_interval(secs => $3)';
	const move = moveRecords('claim', {
		row: 's',
		to: { sql: `case when s.not_after > now() then 'SENDING' else 'EXPIRED' end` },
		lease,
		worker: '$4',
	});
	return `
		with m as materialized (select * from unnest($1::uuid[], $2::uuid[], $5::uuid[]) as m (id, tenant_id, config_id)),
		found as materialized (
			select s.id, m.config_id, s.status || '' = 'SENDING' as again, s.not_after > now() as timely, s.due_at from m join send_state s using (id, tenant_id)
			where (${recordsAt('claim', 's')} and s.due_at <= now() and s.tenant_id <> all(${haltedAmong('$2::uuid[]')})) or (s.status || '' = 'SENDING' and s.claimed_by = $4 and s.lease_until > now())
			order by s.id for update of s
		),
		-- What does not stand open to everybody, of the configs that are asked about; the route's own gate has no id that anybody asks for.
		gates as materialized (
			select g.id, ${IS_BARRED} as closed, g.trial_until from gate g where g.id = any(array(select config_id from m)) and (${IS_BARRED} or g.half_open)
		),
		paused as materialized (select from gate g where g.route = $6 and ${IS_CLOSED}),
		first as materialized (
			select distinct on (config_id) id, config_id from found
			where not again and timely and config_id in (select id from gates where not closed) and not exists (select from paused)
			-- Who found the door shut is due later than those that wait: so not one and the same is tried each time.
			order by config_id, due_at, id
		),
		-- In one order, as gates are closed. The condition once more: whoever waited for the row sees who was quicker.
		asked as materialized (select id from gate where id = any(array(select config_id from first)) order by id for no key update),
		trial as (
			update gate g set trial_until = ${lease}
			where g.id = any(array(select id from asked)) and g.half_open and not ${IS_BARRED} and coalesce(g.trial_until <= now(), true) returning g.id, g.trial_until
		),
		through as materialized (select id from first where config_id in (select id from trial)),
		barred as materialized (
			-- What is too late waits behind no gate: it ends here.
			select id from found where not again and timely and (config_id in (select id from gates) or exists (select from paused)) and id not in (select id from through)
		),
		back as (${handBackSql()}),
		waited as (update send_state s set waits = s.waits + 1 where s.id = any(array(select id from back))),
		due as materialized (select id from found where not again and id not in (select id from barred)),
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
		select x.*, back.id as back_id, back.flow_id as back_flow from (
			select c.id, c.tenant_id, c.status, c.version, c.attempt_no, c.budget_used, c.budget_max, c.hold, c.claimed_at, entry.published_at,
				extract(epoch from now() - c.quota_since)::int as quota_waited, r.type, r.lane, r.config_id, coalesce(config.version, 0) as config_version,
				-- A repeated claim finds what the first one got: then the trial is this one's, too.
				coalesce(
					(select trial_until from trial where id = r.config_id and c.id in (select id from through)),
					(select trial_until from gates where id = r.config_id and not closed and c.id in (select id from kept))
				)::text as trial,
				c.id in (select record_id from letter) as lettered, r.created_at, r.trace_id, r.traceparent,
				p.subject, p.body_text, p.body_html, p.from_address, p.from_name, p.reply_to, p.headers, p.attachments, q.recipients
			from (select * from claimed union all select * from kept) c join send_record r using (id) join send_payload p using (id) left join ${CONFIG_TABLE[channel]} config on config.id = r.config_id left join entry on entry.id = c.id
				cross join lateral (
					select json_agg(json_build_array(n, role, address, name, outcome) order by n) as recipients from send_recipient where id = c.id
				) q
		) x full join back on back.id = x.id`;
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
	trial: string | null;
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
/** A record that its gate did not let through. */
type Back = { status: null; back_id: string; back_flow: string | bigint };

/** Which message asks for which record, and the provider config that it was bound to. */
export type ClaimKey = { readonly recordId: string; readonly tenantId: string; readonly configId: string };

/** How long a claim holds, and for whom. `claim` names this one claim and no other, ever: a repeated call with the same name finds what its first one got. */
export type Claimant = {
	readonly channel: Channel;
	readonly route: Route;
	readonly leaseSeconds: number;
	readonly worker: string;
	readonly claim: string;
};

/** What a claim came to. `handedBack` stood behind a closed gate: it was not claimed, and waits to be published again once its flow is woken. */
export type ClaimAnswer = { readonly claimed: ClaimedRecord[]; readonly expired: Expired[]; readonly handedBack: HandedBack[] };

/**
 * Claims the records that are due and removes their outbox entries in the same statement. What is not due, not open, another tenant's, a halted tenant's or unknown is left out: a stale duplicate claims nothing.
 * What is too late becomes EXPIRED here and stands in `expired`. What stands behind a closed gate or a paused route, or is not the one that a half-open gate lets through, is handed back: its
 * outbox entry waits again, and the wait is counted; nothing is claimed for it. Rows are locked in id order, so batches never dead-lock each other.
 * When the answer to a claim was lost, the same call once more, with the same `claim`, answers what that one has claimed under a renewed lease: nobody was told of those records, so nothing was sent.
 */
export async function claimRecords(pool: Queryable, keys: readonly ClaimKey[], claimant: Claimant): Promise<ClaimAnswer> {
	const text = TEXTS.get(claimant.channel) ?? statement(claimant.channel);
	TEXTS.set(claimant.channel, text);
	const { rows } = await pool.query<Row | Back>({
		name: `claim-${claimant.channel}`,
		text,
		values: [
			keys.map((key) => key.recordId),
			keys.map((key) => key.tenantId),
			claimant.leaseSeconds,
			claimedBy(claimant),
			keys.map((key) => key.configId),
			claimant.route,
		],
	});
	const records = rows.filter((row) => row.status !== null);
	return {
		claimed: records.filter((row) => row.status === 'SENDING').map(toClaimed),
		expired: records
			.filter((row) => row.status === 'EXPIRED')
			.map((row) => ({ id: row.id, attemptNo: row.attempt_no, lettered: row.lettered })),
		handedBack: rows.filter((row) => row.status === null).map((row) => ({ id: row.back_id, flowId: String(row.back_flow) })),
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
		trial: row.trial,
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
