import { type Db, findDueReplays, troubleOf, wakeFlows } from '@tidings/db';
import type { Logger, Metrics } from '@tidings/telemetry';
import { type ReplayTurn, replayTurn } from './replay-turn.js';

/** What working off replays needs. */
export type ReplayOptions = { readonly db: Db; readonly log: Logger; readonly metrics: Metrics };

type Due = { readonly id: string; readonly tenantId: string };

/**
 * Works off the replays that are due, of all tenants, turn by turn until none is; any number of services may do so at once. Ends early when `stopping` is aborted: what is left
 * goes on wherever somebody works. A replay whose turn fails holds up no other; throws the first such failure when the others had their turn.
 */
export async function workReplays(options: ReplayOptions, stopping: AbortSignal): Promise<void> {
	for (let moved = true; moved && !stopping.aborted; ) {
		moved = false;
		const failures: unknown[] = [];
		for (const due of await findDueReplays(options.db.pool)) {
			if (stopping.aborted) return;
			const isTurn = await work(options, due).catch((error: unknown) => {
				failures.push(error);
				return false;
			});
			moved ||= isTurn;
		}
		if (failures.length > 0) throw failures[0];
	}
}

/** Whether there was a turn: a replay that another service has is left to it. */
async function work(options: ReplayOptions, due: Due): Promise<boolean> {
	const turn = await replayTurn(options.db, due);
	if (turn === null) return false;
	report(turn, due, options);
	await wakeFlows(
		options.db.pool,
		turn.flows.map((flowId) => ({ flowId, dueAt: null })),
	).catch((error: unknown) => {
		// The commit stands without this hint: publishers find sleeping flows again.
		if (troubleOf(error) === 'bug') throw error;
	});
	return true;
}

function report(turn: ReplayTurn, { id, tenantId }: Due, { metrics, log }: ReplayOptions): void {
	metrics.deadLetterActionsTotal.inc({ action: 'replay', result: 'done' }, turn.replayed);
	metrics.deadLetterActionsTotal.inc({ action: 'replay', result: 'refused' }, turn.refused);
	metrics.deadLetterActionsTotal.inc({ action: 'replay', result: 'failed' }, turn.failed);
	for (const { letterId, error } of turn.faults)
		log.error({ replayId: id, tenantId, letterId, err: error }, 'a letter could not be replayed and is left out');
	if (turn.end !== null) log.info({ replayId: id, tenantId, end: turn.end }, 'a replay of dead letters ended');
}
