import { type Db, reopenPublished, wakeFlows } from '@tidings/db';
import type { Logger } from '@tidings/telemetry';

const PAGE = 1_000;

/** Publishes everything again that the broker held, because it said that it lost it all (law 1: the tables know). Returns how many entries that were. */
export async function reopenLost(db: Db, log: Logger): Promise<number> {
	let all = 0;
	for (;;) {
		const healed = await reopenPublished(db.pool, PAGE);
		all += healed.length;
		const flows = [...new Set(healed.map((one) => one.flowId))];
		if (flows.length > 0)
			await wakeFlows(
				db.pool,
				flows.map((flowId) => ({ flowId, dueAt: null })),
			);
		if (healed.length < PAGE) break;
	}
	if (all > 0) log.info({ entries: all }, 'the broker lost what it held; it is published again');
	return all;
}
