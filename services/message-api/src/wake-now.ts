import { type Db, troubleOf, wakeFlows } from '@tidings/db';

/**
 * Tells the publishers, after the commit, that these flows have something that is due now. The commit stands whether or not this hint arrives:
 * sleeping flows are found again by the publishers.
 */
export async function wakeNow({ pool }: Pick<Db, 'pool'>, flowIds: readonly string[]): Promise<void> {
	if (flowIds.length === 0) return;
	try {
		await wakeFlows(
			pool,
			flowIds.map((flowId) => ({ flowId, dueAt: null })),
		);
	} catch (error) {
		if (troubleOf(error) === 'bug') throw error;
	}
}
