import type { Lane, OutboxStatus } from '@tidings/model';
import type { Queryable } from '../client.js';

/** An outbox entry as it is listed. Its id is that of the message that it is about. */
export type EntryRow = {
	readonly id: string;
	readonly status: OutboxStatus;
	readonly route: string;
	readonly lane: Lane;
	readonly dueAt: Date;
	readonly publishedAt: Date | null;
	readonly refusals: number;
	readonly heals: number;
	readonly nacks: number;
	readonly traceId: string;
	readonly createdAt: Date;
};

/** Which entries are wanted; what is absent does not filter. `before`: older than this one. */
export type EntryFilter = { readonly status?: OutboxStatus; readonly route?: string; readonly before?: string };

const COLUMNS = `e.id, e.status, e.route, e.lane, e.due_at as "dueAt", e.published_at as "publishedAt", e.refusals, e.heals, e.nacks,
	e.trace_id as "traceId", e.created_at as "createdAt"`;

const OWN_FLOWS = 'e.flow_id = any(array(select id from flow where tenant_id = $1))';

/** How the entries of a state are found: those that wait or are out by the tenant's flows, the dead ones by an index of their own. */
const PLACES: Readonly<Record<OutboxStatus, string>> = {
	NEW: `not e.taken and ${OWN_FLOWS}`,
	PUBLISHING: `e.taken and ${OWN_FLOWS}`,
	PUBLISHED: `e.taken and ${OWN_FLOWS}`,
	DEAD: 'e.taken is null',
};

/**
 * A tenant's outbox entries, newest first, at most `limit`. Uses outbox_entry_dead, and outbox_entry_waiting and outbox_entry_out by the tenant's flows; where much of the tenant
 * waits, the primary key backwards. So a tenant with little waiting looks at nothing but its own.
 */
export async function listEntries(pool: Queryable, tenantId: string, filter: EntryFilter, limit: number): Promise<EntryRow[]> {
	const values: unknown[] = [tenantId, limit];
	const conditions = ['e.tenant_id = $1'];
	const where = (value: unknown, condition: (parameter: string) => string): void => {
		if (value === undefined) return;
		values.push(value);
		conditions.push(condition(`$${values.length}`));
	};
	where(filter.before, (p) => `e.id < ${p}::uuid`);
	where(filter.status, (p) => `e.status = ${p}`);
	where(filter.route, (p) => `e.route = ${p}`);
	const places = filter.status === undefined ? Object.values(PLACES) : [PLACES[filter.status]];
	const parts = [...new Set(places)].map(
		(place) => `(select ${COLUMNS} from outbox_entry e where ${conditions.join(' and ')} and ${place} order by e.id desc limit $2)`,
	);
	const { rows } = await pool.query<EntryRow>({
		text: `select * from (${parts.join(' union all ')}) as m order by id desc limit $2`,
		values,
	});
	return rows;
}

/** One outbox entry of a tenant; null when it is not there or not the tenant's. */
export async function findEntry(client: Queryable, tenantId: string, id: string): Promise<EntryRow | null> {
	const { rows } = await client.query<EntryRow>({
		name: 'find-entry',
		text: `select ${COLUMNS} from outbox_entry e where e.id = $1::uuid and e.tenant_id = $2::uuid`,
		values: [id, tenantId],
	});
	return rows[0] ?? null;
}
