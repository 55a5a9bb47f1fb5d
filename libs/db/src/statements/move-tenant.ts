import type { Queryable } from '../client.js';
import { type MoveSql, moveTenants } from '../transition.js';

/** What the operator does with a tenant. `queued`: what becomes of what waits. */
export type TenantMove = { readonly act: 'suspend' | 'resume' } | { readonly act: 'delete'; readonly queued: 'deliver' | 'cancel' };

const text = ({ guard, set }: MoveSql): string =>
	`update tenant t set ${set} where t.id = $1::uuid and t.kind = 'TENANT' and t.erasing_at is null and ${guard} returning t.id`;

const SUSPEND = text(moveTenants('suspend', { row: 't', to: 'SUSPENDED' }));
const RESUME = text(moveTenants('resume', { row: 't', to: 'ACTIVE' }));
const DELETE = text(moveTenants('delete', { row: 't', to: 'DELETING', queued: '$2::text' }));

/**
 * Moves a tenant by compare-and-swap on its status, in the caller's transaction. False: its state does not allow the act, it is the platform's own, or it is being erased already;
 * then nothing was written. By the primary key.
 */
export async function moveTenant(client: Queryable, tenantId: string, move: TenantMove): Promise<boolean> {
	const statement =
		move.act === 'delete'
			? { text: DELETE, values: [tenantId, move.queued] }
			: { text: move.act === 'suspend' ? SUSPEND : RESUME, values: [tenantId] };
	const { rows } = await client.query(statement);
	return rows.length === 1;
}
