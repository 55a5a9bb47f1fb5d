import type { Queryable } from '../client.js';
import { releaseHeld } from './release-held.js';

/**
 * Opens the gate of a provider config that was just changed, in the transaction that changes it: half, when its provider has not worked since it failed, so that one message shows whether it is
 * mended now. A pause is a person's, and stays; but its probe of the old config is forgotten. What was too large for the rest of a window is let go: the limits may be others. The flows are to be woken after the commit.
 */
export async function openChanged(client: Queryable, { id, tenantId }: { id: string; tenantId: string }): Promise<void> {
	await client.query({
		name: 'open-changed',
		text: `
			update gate set closed_until = null, reason = null, detail = null, probe_at = null, trial_until = null, half_open = half_open or failures > 0, failures = 0,
				version = version + 1,
				-- What was open stands as it stood.
				changed_at = case when closed_until is null then changed_at else least(closed_until, now()) end
			where id = $1::uuid and tenant_id = $2::uuid and reason is distinct from 'PAUSED'`,
		values: [id, tenantId],
	});
	await releaseHeld(client, [id]);
}
