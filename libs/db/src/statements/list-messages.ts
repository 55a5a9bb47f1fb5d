import type { Category, Channel, Lane, SendStatus, Stage } from '@tidings/model';
import { idAt } from '@tidings/model';
import type { Queryable } from '../client.js';

/** A message as it is read: its facts, where it stands, its recipients, and its newest error. */
export type MessageRow = {
	readonly id: string;
	readonly channel: Channel;
	readonly type: string;
	readonly scope: 'TENANT' | 'PLATFORM';
	readonly lane: Lane;
	readonly configId: string | null;
	readonly metadata: Record<string, string>;
	readonly traceId: string;
	readonly notificationId: string | null;
	readonly dedupeKey: string | null;
	readonly notBefore: Date | null;
	readonly validUntil: Date | null;
	readonly createdAt: Date;
	readonly status: SendStatus;
	readonly attemptNo: number;
	readonly budgetUsed: number;
	readonly budgetMax: number;
	readonly waits: number;
	readonly partial: boolean;
	readonly ambiguous: boolean;
	readonly reason: string | null;
	readonly dueAt: Date | null;
	readonly sentAt: Date | null;
	readonly finishedAt: Date | null;
	readonly subject: string | null;
	readonly recipients: readonly MessageRecipient[];
	readonly lastError: {
		category: Category;
		stage: Stage | null;
		code: string | null;
		enhancedCode: string | null;
		text: string | null;
	} | null;
	readonly providerMessageId: string | null;
	readonly deadLetterId: string | null;
	/** What keeps an open message from being tried. */
	readonly waitsFor: {
		readonly what: 'SERVER' | 'ROUTE' | 'TENANT' | 'OUTBOX';
		readonly reason: string;
		readonly detail: string | null;
		readonly until: string | null;
	} | null;
};

/** A recipient as it is read. */
export type MessageRecipient = {
	readonly role: 'to' | 'cc' | 'bcc';
	readonly address: string;
	readonly outcome: 'OPEN' | 'ACCEPTED' | 'REFUSED' | 'BOUNCED' | 'DELIVERED';
	readonly code: string | null;
	readonly enhancedCode: string | null;
	readonly text: string | null;
};

/** Which messages are wanted; what is absent does not filter. */
export type MessageFilter = {
	readonly channel?: string;
	readonly status?: string;
	readonly type?: string;
	/** SHA-256 of a recipient's normalised address. */
	readonly addressHash?: Buffer;
	/** Marks that a message has, all of them. */
	readonly metadata?: Readonly<Record<string, string>>;
	readonly notificationId?: string;
	/** At this time or later. */
	readonly createdAfter?: Date;
	/** Before this time. */
	readonly createdBefore?: Date;
	/** Messages older than this one. */
	readonly before?: string;
};

const MESSAGE = `
	select r.id, r.channel, r.type, r.scope, r.lane, r.config_id as "configId", r.metadata, r.trace_id as "traceId", r.notification_id as "notificationId",
		r.dedupe_key as "dedupeKey", r.not_before as "notBefore", r.valid_until as "validUntil", r.created_at as "createdAt",
		s.status, s.attempt_no as "attemptNo", s.budget_used as "budgetUsed", s.budget_max as "budgetMax", s.waits, s.partial, s.ambiguous, s.reason,
		s.due_at as "dueAt", s.sent_at as "sentAt", s.finished_at as "finishedAt", p.subject, q.recipients, e."lastError", m."providerMessageId", d.id as "deadLetterId",
		case when s.status in ('PENDING', 'RETRY') then w."waitsFor" end as "waitsFor"
	from page
	join send_record r on r.id = page.id
	join send_state s on s.id = page.id
	left join send_payload p on p.id = page.id
	cross join lateral (
		select coalesce(json_agg(json_build_object('role', role, 'address', address, 'outcome', outcome, 'code', code, 'enhancedCode', enhanced_code, 'text', answer) order by n), '[]') as recipients
		from send_recipient where id = page.id
	) as q
	left join lateral (
		select json_build_object('category', category, 'stage', stage, 'code', code, 'enhancedCode', enhanced_code, 'text', answer) as "lastError"
		from delivery_attempt where id = page.id and category is not null order by attempt_no desc, try_no desc limit 1
	) as e on true
	left join lateral (
		select provider_message_id as "providerMessageId"
		from delivery_attempt where id = page.id and provider_message_id is not null order by attempt_no desc, try_no desc limit 1
	) as m on true
	left join lateral (
		select json_build_object('what', what, 'reason', reason, 'detail', detail, 'until', until) as "waitsFor" from (
			select 1 as n, 'TENANT' as what, status as reason, null as detail, null as until from tenant t where t.id = r.tenant_id and (t.status = 'SUSPENDED' or t.queued = 'cancel')
			union all
			select 2, case when g.route is null then 'SERVER' else 'ROUTE' end, case when g.closed_until > now() then g.reason else 'HALF_OPEN' end,
				-- What the platform's server said may be about another tenant, and the note of its route is its operators'.
				case when g.closed_until > now() and g.tenant_id = r.tenant_id then g.detail end,
				case when g.closed_until > now() and isfinite(g.closed_until) then to_char(g.closed_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') end
			from gate g where (g.id = r.config_id or g.route = r.route) and (g.closed_until > now() or (g.half_open and g.trial_until > now()))
			union all
			-- What is held did not fit into a window.
			select 3, 'SERVER', 'RATE', 'There is too little room left for all its recipients in this minute or day.', to_char(o.held_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
			from outbox_entry o where o.id = r.id and o.held_until > now()
			union all
			select 0, 'OUTBOX', 'DEAD', null, null from outbox_entry o where o.id = r.id and o.taken is null
		) as c order by n limit 1
	) as w on true
	left join dead_letter_message d on d.record_id = page.id and d.status = 'PENDING'
	order by page.id desc`;

/** Clocks of the services and of the database may differ by this much, so the ids of a time range are looked for this much further. */
const SLACK_MS = 3_600_000;

/**
 * A tenant's messages, newest first, at most `limit`. The page of ids is found first, so that nothing is gathered for a row that is not shown.
 * Walks the list index of send_record, or the index on address hash or metadata when these filter.
 */
export async function listMessages(pool: Queryable, tenantId: string, filter: MessageFilter, limit: number): Promise<MessageRow[]> {
	const values: unknown[] = [tenantId];
	const conditions = ['r.tenant_id = $1', 's.tenant_id = $1'];
	const where = (value: unknown, condition: (parameter: string) => string): void => {
		if (value === undefined) return;
		values.push(value);
		conditions.push(condition(`$${values.length}`));
	};
	where(filter.before, (p) => `r.id < ${p}::uuid`);
	where(filter.channel, (p) => `r.channel = ${p}`);
	where(filter.status, (p) => `s.status = ${p}`);
	where(filter.type, (p) => `r.type = ${p}`);
	where(
		filter.addressHash,
		(p) => `exists (select from send_recipient x where x.tenant_id = $1 and x.address_hash = ${p} and x.id = r.id)`,
	);
	where(filter.metadata && JSON.stringify(filter.metadata), (p) => `(r.metadata @> ${p}::jsonb and r.metadata <> '{}')`);
	where(filter.notificationId, (p) => `r.notification_id = ${p}::uuid`);
	where(filter.createdAfter, (p) => `r.created_at >= ${p}::timestamptz`);
	where(filter.createdAfter && idAt(new Date(filter.createdAfter.getTime() - SLACK_MS)), (p) => `r.id >= ${p}::uuid`);
	where(filter.createdBefore, (p) => `r.created_at < ${p}::timestamptz`);
	where(filter.createdBefore && idAt(new Date(filter.createdBefore.getTime() + SLACK_MS)), (p) => `r.id < ${p}::uuid`);
	values.push(limit);
	const page = `select r.id from send_record r join send_state s using (id) where ${conditions.join(' and ')} order by r.id desc limit $${values.length}`;
	const { rows } = await pool.query<MessageRow>({ text: `with page as materialized (${page}) ${MESSAGE}`, values });
	return rows;
}

/** One message of a tenant; null when it is not there or not the tenant's. */
export async function findMessage(pool: Queryable, tenantId: string, id: string): Promise<MessageRow | null> {
	const { rows } = await pool.query<MessageRow>({
		name: 'find-message',
		text: `with page as materialized (select id from send_record where id = $1::uuid and tenant_id = $2::uuid) ${MESSAGE}`,
		values: [id, tenantId],
	});
	return rows[0] ?? null;
}
