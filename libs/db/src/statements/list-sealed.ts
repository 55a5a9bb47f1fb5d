import type { Queryable } from '../client.js';
import type { SealedColumn } from '../sealed-columns.js';

/** A sealed field as it is stored. */
export type StoredSecret = { readonly id: string; readonly tenantId: string; readonly sealed: string };

/**
 * Sealed fields of one column, by id: at most `limit` after `after` (null: from the start), or those of the rows `ids`. Crosses tenants by nature: keys belong to the operator.
 * Read by the primary key. The names come from SEALED_COLUMNS and nowhere else.
 */
export async function listSealed(
	pool: Queryable,
	{ table, column }: SealedColumn,
	which: { readonly after: string | null; readonly limit: number } | { readonly ids: readonly string[] },
): Promise<StoredSecret[]> {
	const [rule, values] =
		'ids' in which
			? ['id = any($1::uuid[]) order by id', [which.ids]]
			: ['($1::uuid is null or id > $1) order by id limit $2', [which.after, which.limit]];
	const { rows } = await pool.query<StoredSecret>({
		text: `select id, tenant_id as "tenantId", ${column} as sealed from ${table} where ${column} is not null and ${rule}`,
		values,
	});
	return rows;
}
