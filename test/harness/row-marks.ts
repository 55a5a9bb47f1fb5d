import type { Db } from '@tidings/db';

/** What the rows of one tenant in one table were like: how many, and a mark that changes when one of them is inserted, updated or deleted. */
type Rows = { readonly tenantId: string; readonly table: string; readonly n: number; readonly mark: string };

/** All rows of all tables at one moment. */
export type RowMarks = ReadonlyMap<string, Rows>;

/** A tenant's rows in a table that changed: how many more there are; 0: as many, but not the same. */
export type RowChange = { readonly tenantId: string; readonly table: string; readonly more: number };

/**
 * What tells that a row was written. Whatever writes one leaves another `xmin`; no content has to be read for it. Left out is what is written later, for many requests at once:
 * when a key was used last, and when a flow is looked at next.
 */
const MARKS: Readonly<Record<string, string>> = { api_key: `hashtext((to_jsonb(t) - 'last_used_at')::text)`, flow: 't.id' };

/** Makes the reading of all rows of all tables, by tenant. */
export async function createReadRows({ pool }: Pick<Db, 'pool'>): Promise<() => Promise<RowMarks>> {
	const { rows: tables } = await pool.query<{ name: string; owner: string }>(`
		select c.relname as name, case when c.relname = 'tenant' then 'id' else 'tenant_id' end as owner
		from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
			and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname in ('tenant_id', 'queued'))`);
	const text = tables
		.map(({ name, owner }) => {
			const mark = MARKS[name] ?? 't.xmin::text::bigint';
			return `select '${name}' as "table", ${owner} as "tenantId", count(*)::int as n, sum(${mark})::text as mark from ${name} t group by ${owner}`;
		})
		.join(' union all ');
	return async () => {
		const { rows } = await pool.query<Rows>(text);
		return new Map(rows.map((row) => [`${row.table} ${row.tenantId}`, row]));
	};
}

/** What was written between two moments, in the order of the tables' names. */
export function changesOf(before: RowMarks, after: RowMarks): RowChange[] {
	const places = [...new Set([...before.keys(), ...after.keys()])].sort();
	return places.flatMap((place) => {
		const [was, is] = [before.get(place), after.get(place)];
		const { tenantId, table } = is ?? was ?? { tenantId: '', table: '' };
		if (was?.n === is?.n && was?.mark === is?.mark) return [];
		return [{ tenantId, table, more: (is?.n ?? 0) - (was?.n ?? 0) }];
	});
}
