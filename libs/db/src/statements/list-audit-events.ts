import { idAt } from '@tidings/model';
import type { Queryable } from '../client.js';

/** What somebody did, as it is listed. */
export type AuditRow = {
	readonly id: string;
	readonly at: Date;
	readonly actor: string;
	readonly action: string;
	readonly subjectType: string;
	readonly subjectId: string;
	readonly detail: Readonly<Record<string, unknown>>;
	readonly traceId: string | null;
};

/** Which events are wanted; what is absent does not filter. */
export type AuditFilter = {
	/** The action; one that ends in a dot is the beginning of several. */
	readonly action?: string;
	readonly actor?: string;
	readonly subjectType?: string;
	readonly subjectId?: string;
	/** At this time or later. */
	readonly createdAfter?: Date;
	/** Before this time. */
	readonly createdBefore?: Date;
	/** Events older than this one. */
	readonly before?: string;
};

/** An event's id comes from a service's clock, its time from the database's at the transaction's begin: they differ by this much at most. */
const SLACK_MS = 3_600_000;

/** A tenant's events, newest first, at most `limit`. Walks audit_event_list from the cursor or the end of the time range, or audit_event_subject when one thing is asked for. */
export async function listAuditEvents(pool: Queryable, tenantId: string, filter: AuditFilter, limit: number): Promise<AuditRow[]> {
	const values: unknown[] = [tenantId];
	const conditions = ['tenant_id = $1'];
	const where = (value: unknown, condition: (parameter: string) => string): void => {
		if (value === undefined) return;
		values.push(value);
		conditions.push(condition(`$${values.length}`));
	};
	where(filter.before, (p) => `id < ${p}::uuid`);
	where(filter.action, (p) => (filter.action?.endsWith('.') === true ? `starts_with(action, ${p})` : `action = ${p}`));
	where(filter.actor, (p) => `actor = ${p}`);
	where(filter.subjectType, (p) => `subject_type = ${p}`);
	where(filter.subjectId, (p) => `subject_id = ${p}::uuid`);
	where(filter.createdAfter, (p) => `at >= ${p}::timestamptz`);
	where(filter.createdAfter && idAt(new Date(filter.createdAfter.getTime() - SLACK_MS)), (p) => `id >= ${p}::uuid`);
	where(filter.createdBefore, (p) => `at < ${p}::timestamptz`);
	where(filter.createdBefore && idAt(new Date(filter.createdBefore.getTime() + SLACK_MS)), (p) => `id < ${p}::uuid`);
	values.push(limit);
	const { rows } = await pool.query<AuditRow>({
		text: `
			select id, at, actor, action, subject_type as "subjectType", subject_id as "subjectId", detail, trace_id as "traceId"
			from audit_event where ${conditions.join(' and ')} order by id desc limit $${values.length}`,
		values,
	});
	return rows;
}
