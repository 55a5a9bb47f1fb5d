import { findConfigs } from '@tidings/db';
import { createBatch } from './batch.js';
import { claimWaiting } from './claim-waiting.js';
import { type DeliveryContext, type DeliveryOptions, giveUp } from './context.js';
import { createLines } from './lines.js';
import type { DeliveryMessage } from './message.js';
import { createPersist } from './persist.js';
import { createPulse } from './pulse.js';
import { sendClaimed } from './send-claimed.js';
import { type Ended, settleEnded } from './settle-ended.js';

/** Delivers messages: claim → provider → settle → ack, in batches where the database is concerned. */
export type Delivery = {
	take(message: DeliveryMessage): void;
	/** Claims nothing any more; what waits is let go un-acked. */
	quiet(): void;
	/** Resolves when every claimed record is settled. */
	drained(): Promise<void>;
};

/** Rows of one statement at most. */
const BATCH = 200;
/**
 * Under load statements of one kind begin up to this far apart, for a statement costs as much as ten rows; the first after a quiet moment goes at once.
 * Settlements wait less: what is sent and not settled yet is sent again after a crash.
 */
const LOOK_UP_MS = 50;
const CLAIM_MS = 20;
const SETTLE_MS = 20;

/** Makes a delivery for one channel. Messages wait in a line for each provider config; a slot is free again when the provider has answered, before the settlement. */
export function createDelivery(options: DeliveryOptions): Delivery {
	let quiet = false;
	const context: DeliveryContext = {
		...options,
		persist: createPersist({ log: options.log, onAway: options.onAway, stopping: () => quiet }),
	};
	const lines = createLines<DeliveryMessage>(options.slots);
	const sending = new Set<Promise<void>>();
	const arrivals = createBatch<DeliveryMessage>({ limit: BATCH, mostMs: LOOK_UP_MS, handle: (messages) => lineUp(messages) });
	const settlements = createBatch<Ended>({ limit: BATCH, mostMs: SETTLE_MS, handle: (items) => settleEnded(context, items) });

	const lineUp = async (messages: readonly DeliveryMessage[]): Promise<void> => {
		try {
			const configs = await context.persist(() => findConfigs(options.db.pool, messages));
			for (const message of messages) {
				const configId = configs.get(message.recordId);
				if (configId === undefined) message.poison('there is no such record');
				else if (quiet) options.metrics.messagesInFlight.dec({ route: options.route });
				else lines.add(configId, message);
			}
			claims.wake();
		} catch (error) {
			giveUp(options, messages, error);
		}
	};
	/** One claim at a time: what becomes free meanwhile makes the next one larger. */
	const claims = createPulse(CLAIM_MS, async () => {
		const taken = quiet ? [] : lines.take(BATCH);
		if (taken.length > 0) await claim(taken);
		return taken.length;
	});
	const claim = async (taken: readonly { configId: string; message: DeliveryMessage }[]): Promise<void> => {
		const claimed = await claimWaiting(
			context,
			taken.map((one) => one.message),
		);
		const mine = new Map(claimed.map((one) => [one.message, one]));
		for (const { configId, message } of taken) {
			const one = mine.get(message);
			if (one === undefined) {
				lines.release(configId);
				continue;
			}
			const flight = sendClaimed(context, one)
				.catch(bug(message))
				.then((ended) => {
					sending.delete(flight);
					if (ended !== null) settlements.add(ended);
					const starving = lines.release(configId);
					if (lines.waiting > 0) claims.wake(starving);
				});
			sending.add(flight);
		}
		if (lines.waiting > 0) claims.wake();
	};

	/** Whatever breaks here, the slot is given back. */
	const bug =
		(message: DeliveryMessage) =>
		(error: unknown): null => {
			giveUp(options, [message], error);
			return null;
		};

	return {
		take: (message) => arrivals.add(counted(options, message)),
		quiet: () => {
			quiet = true;
			options.metrics.messagesInFlight.dec({ route: options.route }, lines.clear().length);
		},
		drained: async () => {
			await arrivals.drained();
			await claims.idle();
			while (sending.size > 0) await Promise.all(sending);
			await settlements.drained();
		},
	};
}

/** The message, counted as in flight until it is acknowledged, handed back or archived. */
function counted({ metrics, route }: DeliveryOptions, message: DeliveryMessage): DeliveryMessage {
	metrics.messagesInFlight.inc({ route });
	const ending =
		<Args extends unknown[]>(act: (...args: Args) => void) =>
		(...args: Args): void => {
			metrics.messagesInFlight.dec({ route });
			act(...args);
		};
	return { ...message, ack: ending(message.ack), nack: ending(message.nack), poison: ending(message.poison) };
}
