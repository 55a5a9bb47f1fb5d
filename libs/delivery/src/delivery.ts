import { findConfigs } from '@tidings/db';
import type { Room } from '@tidings/limits';
import { decodeEnvelope, monotonic } from '@tidings/model';
import { archivePoison, type Poison, poisonOf } from './archive-poison.js';
import { createBatch } from './batch.js';
import { type Claimed, claimWaiting } from './claim-waiting.js';
import type { DeliveryContext, DeliveryOptions } from './context.js';
import { dropErased } from './drop-erased.js';
import type { Ended } from './ended.js';
import { createEnding } from './ending.js';
import { newGateMemory } from './gate-memory.js';
import { giveRoomBack } from './give-room-back.js';
import { giveUp } from './give-up.js';
import { letNextTry } from './judge-gates.js';
import { createLines } from './lines.js';
import type { DeliveryMessage, HeldMessage, LinedMessage } from './message.js';
import { passWindows } from './pass-windows.js';
import { createPersist } from './persist.js';
import { createPulse } from './pulse.js';
import { relieveCrowd } from './relieve-crowd.js';
import { sendClaimed } from './send-claimed.js';
import { settleEnded } from './settle-ended.js';
import { watchStuck } from './watch-stuck.js';

/** Delivers messages: claim → provider → settle → ack, in batches where the database is concerned. */
export type Delivery = {
	/** Takes a message. What cannot be read, or names no record, is archived as poison and acknowledged. */
	take(message: DeliveryMessage): void;
	/** Claims nothing any more; what waits is let go un-acked. */
	quiet(): void;
	/**
	 * Resolves when every claimed record is settled. `leftMs`: time until the process has to end; absent, as long as it takes. Shortly before, what is not handed over
	 * to its last byte is given back, due at once and nothing burnt; shortly after that, what the provider has not answered is settled as ambiguous.
	 */
	drained(leftMs?: number): Promise<void>;
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
/** The rate windows are asked again at least this often while they are away: asking costs little, and every sender waits for it. */
const LIMITS_MS = 2_000;

/** Makes a delivery for one channel. Messages wait in a line for each provider config; a slot is free again when the provider has answered, before the settlement; when it let nobody in, once its gate knows. */
export function createDelivery(options: DeliveryOptions): Delivery {
	let quiet = false;
	const stopping = (): boolean => quiet;
	const ending = createEnding();
	const away = combineAway(options.onAway);
	const persist = createPersist({ log: options.log, onAway: away.tell('database'), stopping, last: ending.last });
	const persistLimits = createPersist({
		what: 'what counts the rate limits',
		isAway: () => !quiet,
		mostMs: LIMITS_MS,
		log: options.log,
		onAway: away.tell('limits'),
		stopping,
		last: ending.last,
	});
	const context: DeliveryContext = {
		...options,
		persist,
		persistLimits,
		gates: newGateMemory(),
		isAway: away.any,
		stopping,
		cut: ending.cut,
		last: ending.last,
	};
	const lines = createLines<LinedMessage>(options.slots);
	const stuck = watchStuck(context, lines);
	const sending = new Set<Promise<void>>();
	const poisons = createBatch<Poison>({ limit: BATCH, mostMs: LOOK_UP_MS, handle: (items) => archivePoison(context, items) });
	const arrivals = createBatch<HeldMessage>({ limit: BATCH, mostMs: LOOK_UP_MS, handle: (messages) => lineUp(messages) });
	const settlements = createBatch<Ended>({ limit: BATCH, mostMs: SETTLE_MS, handle: (items) => settleEnded(context, items) });

	const lineUp = async (messages: readonly HeldMessage[]): Promise<void> => {
		try {
			const configs = await context.persist(() => findConfigs(options.db.pool, messages));
			const unknown = messages.filter((message) => !configs.has(message.recordId));
			for (const message of await dropErased(context, unknown)) poisons.add(poisonOf(message, 'there is no such record'));
			for (const message of messages) {
				const use = configs.get(message.recordId);
				if (use === undefined) continue;
				if (quiet) message.letGo();
				else lines.add({ ...message, ...use });
			}
			claims.wake();
		} catch (error) {
			await giveUp(context, messages, error);
		}
	};
	/** One claim at a time: what becomes free meanwhile makes the next one larger. */
	const claims = createPulse(CLAIM_MS, async () => {
		const taken = quiet ? [] : lines.take(BATCH);
		if (taken.length > 0) await claim(taken);
		return taken.length;
	});
	const claim = async (taken: readonly LinedMessage[]): Promise<void> => {
		const rooms = await passWindows(context, lines, taken);
		const claimed = rooms.size === 0 ? [] : await claimWaiting(context, [...rooms.keys()]);
		const mine = new Set(claimed.map((one) => one.message));
		for (const message of taken) if (!mine.has(message)) lines.release(message);
		for (const one of claimed) fly(one, rooms.get(one.message) ?? []);
		if (lines.waiting > 0) claims.wake();
		await giveRoomBack(
			context,
			[...rooms].filter(([message]) => !mine.has(message)).map(([{ configId }, room]) => ({ configId, room })),
		);
	};
	const fly = (one: Claimed, room: Room): void => {
		const { message } = one;
		const line = { narrow: () => lines.narrow(message), widen: () => lines.widen(message) };
		let departed = false;
		const onDepart = (): void => {
			departed = true;
			lines.depart(message);
		};
		const land = (): void => {
			const starving = departed && lines.land(message);
			if (!departed) lines.release(message);
			if (lines.waiting > 0) claims.wake(starving);
		};
		const flight = sendClaimed(context, { ...one, room, onDepart })
			// Whatever breaks here, the slot is given back.
			.catch((error: unknown) => giveUp(context, [one.message], error).then(() => null))
			.then(async (ended) => {
				if (ended === null) await letNextTry(context, [one.record]);
				return ended;
			})
			.then((found) => {
				sending.delete(flight);
				const ended = found === null ? null : relieveCrowd(line, found);
				// Who found the door shut keeps its slot until the gate knows of it: else the next one runs against it meanwhile.
				const isShut = ended !== null && (ended.verdict.kind === 'close' || ended.verdict.kind === 'strike');
				if (ended !== null) settlements.add(isShut ? { ...ended, onJudged: land } : ended);
				if (!isShut) land();
			});
		sending.add(flight);
	};

	return {
		take: (message) => {
			const held = hold(options, message);
			const envelope = decodeEnvelope(message.payload);
			if (typeof envelope === 'string') {
				poisons.add(poisonOf(held, envelope));
				return;
			}
			message.span.set({ 'tidings.record.id': envelope.recordId, 'tidings.tenant.id': envelope.tenantId });
			arrivals.add({ ...held, ...envelope, receivedAt: monotonic() });
		},
		quiet: () => {
			quiet = true;
			stuck.stop();
			for (const message of lines.clear()) message.letGo();
		},
		drained: async (leftMs) => {
			const callOff = leftMs === undefined ? () => undefined : ending.begin(leftMs);
			await arrivals.drained();
			await claims.idle();
			while (sending.size > 0) await Promise.all(sending);
			await settlements.drained();
			await poisons.drained();
			callOff();
		},
	};
}

/** The message, counted as in flight until it is acknowledged, handed back or let go. */
function hold({ metrics, route }: DeliveryOptions, message: DeliveryMessage): DeliveryMessage & { letGo(): void } {
	metrics.messagesInFlight.inc({ route });
	const ending =
		<Args extends unknown[]>(act: (...args: Args) => void) =>
		(...args: Args): void => {
			metrics.messagesInFlight.dec({ route });
			act(...args);
		};
	const letGo = (): void => {
		message.span.fail('let go');
		message.span.end();
	};
	return { ...message, ack: ending(message.ack), nack: ending(message.nack), letGo: ending(letGo) };
}

/** One pause for several causes: nothing new is taken while any of them lasts. */
function combineAway(onAway: (away: boolean) => void): { tell(cause: string): (isAway: boolean) => void; any(): boolean } {
	const causes = new Set<string>();
	return {
		tell: (cause) => (isAway) => {
			const before = causes.size;
			if (isAway) causes.add(cause);
			else causes.delete(cause);
			if (before > 0 !== causes.size > 0) onAway(isAway);
		},
		any: () => causes.size > 0,
	};
}
