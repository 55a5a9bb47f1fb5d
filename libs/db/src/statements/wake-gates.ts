import type { Queryable } from '../client.js';
import { findWaitingFlows } from './find-waiting-flows.js';
import { wakeFlows } from './wake-flows.js';

/** Wakes all flows in which something waits behind these gates: they have opened, so their publishers look now. To be run after the commit; `wakeSleepingFlows` heals a crash in between. */
export async function wakeGates(pool: Queryable, gates: readonly string[]): Promise<void> {
	for (const gate of gates) {
		const flows = await findWaitingFlows(pool, gate);
		if (flows.length > 0)
			await wakeFlows(
				pool,
				flows.map((flowId) => ({ flowId, dueAt: null })),
			);
	}
}
