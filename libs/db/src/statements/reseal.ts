import type { Queryable } from '../client.js';
import type { SealedColumn } from '../sealed-columns.js';

/** A sealed field as it was read, and as it shall be. */
export type Resealed = { readonly id: string; readonly tenantId: string; readonly sealed: string; readonly fresh: string };

/**
 * Replaces sealed fields by compare-and-swap on the old ciphertext: a field that was changed meanwhile stays as it is. Returns the ids that were replaced.
 * Rows are locked in id order, so that two runs never dead-lock; the lock sees the newest row, and holds it until the update has it. Versions stay: what is sealed is the same.
 */
export async function reseal(pool: Queryable, { table, column }: SealedColumn, fields: readonly Resealed[]): Promise<string[]> {
	const { rows } = await pool.query<{ id: string }>({
		text: `
			with n as materialized (select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) as n (id, tenant_id, sealed, fresh)),
			locked as materialized (
				select t.id from ${table} t join n using (id, tenant_id) where t.${column} = n.sealed order by t.id for no key update of t
			)
			update ${table} t set ${column} = n.fresh from n
			where t.id = n.id and t.tenant_id = n.tenant_id and t.id = any(array(select id from locked)) and t.${column} = n.sealed
			returning t.id`,
		values: [
			fields.map((one) => one.id),
			fields.map((one) => one.tenantId),
			fields.map((one) => one.sealed),
			fields.map((one) => one.fresh),
		],
	});
	return rows.map((row) => row.id);
}
