import { openRoomy, wakeGates } from '@tidings/db';
import type { Room } from '@tidings/limits';
import { isAtDoor, type Outcome } from '@tidings/model';
import type { DeliveryContext } from './context.js';

/** Room in the rate windows of a config. */
export type ConfigRoom = { readonly configId: string; readonly room: Room };

/** Whether an attempt ended before anything was asked for anybody: then it has used no room of its rate windows. */
export function usedNoRoom(outcome: Outcome): boolean {
	switch (outcome.kind) {
		case 'given-back':
		case 'withheld':
			return true;
		case 'answered':
			return outcome.recipients.every((one) => one.kind === 'refused' && isAtDoor(one.stage));
		case 'ambiguous':
			return false;
	}
}

/**
 * Gives room back, once: what cannot be given back is lost with its window. Whoever came meanwhile may have found the window full, so a gate that was closed for that opens. Never rejects: what is
 * not opened here opens with the next window.
 */
export async function giveRoomBack({ db, limits, log }: DeliveryContext, given: readonly ConfigRoom[]): Promise<void> {
	const taken = given.filter(({ room }) => room.length > 0);
	if (taken.length === 0) return;
	try {
		await limits.giveBack(taken.map((one) => one.room));
		await wakeGates(db.pool, await openRoomy(db.pool, [...new Set(taken.map((one) => one.configId))]));
	} catch (error) {
		log.warn({ err: error, messages: taken.length }, 'room in rate windows that was not used could not be given back');
	}
}
