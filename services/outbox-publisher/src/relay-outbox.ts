import { type TakeOptions, takeEntries } from '@tidings/db';
import { type PublishContext, publishEntries } from './publish-entries.js';

/** How much is taken at once, and how many publishes may be under way. */
export type RelayOptions = TakeOptions & { readonly inFlight: number };

/**
 * Publishes everything that is due now. While one batch is with the broker the next is taken, up to `inFlight` batches.
 * Ends when nothing more is due, when the broker is away, or when `stopping` is aborted; what is in flight is finished first.
 */
export async function relayOutbox(context: PublishContext, options: RelayOptions, stopping: AbortSignal): Promise<void> {
	const flying = new Set<Promise<void>>();
	const failures: unknown[] = [];
	let away = false;
	while (!stopping.aborted && !away && failures.length === 0 && context.broker.connected()) {
		const taken = await takeEntries(context.db.pool, options);
		if (taken.length === 0) break;
		const flight = publishEntries(context, taken)
			.then((reached) => {
				away ||= !reached;
			})
			.catch((error: unknown) => {
				failures.push(error);
			})
			.finally(() => flying.delete(flight));
		flying.add(flight);
		if (flying.size >= options.inFlight) await Promise.race(flying);
	}
	await Promise.all(flying);
	if (failures.length > 0) throw failures[0];
}
