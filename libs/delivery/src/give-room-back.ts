import type { Room } from '@tidings/limits';
import { isAtDoor, type Outcome } from '@tidings/model';
import type { DeliveryContext } from './context.js';

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

/** Gives room back, once: what cannot be given back is lost with its window. */
export async function giveRoomBack({ limits, log }: DeliveryContext, rooms: readonly Room[]): Promise<void> {
	const taken = rooms.filter((room) => room.length > 0);
	if (taken.length === 0) return;
	await limits.giveBack(taken).catch((error: unknown) => {
		log.warn({ err: error, messages: taken.length }, 'room in rate windows that was not used could not be given back');
	});
}
