import { monotonic } from '@tidings/model';
import { closeAll } from './close-gate.js';
import type { DeliveryContext } from './context.js';
import { handBackMessages } from './hand-back-messages.js';
import type { Lines } from './lines.js';
import type { LinedMessage } from './message.js';

/** All slots of a config at the provider for so long, and none came free: it hangs. */
const HUNG_MS = 10_000;

/**
 * Watches for configs that hang (the bulkhead, design §7): when all slots of one have been held for a while, its gate closes and its line goes back into the tables, so that what waits there
 * fills no hands. The attempts that hang end by their own deadline. While the database or the rate windows are away, and as long after that, nobody is suspected: what waits then may wait for them.
 */
export function watchStuck(context: DeliveryContext, lines: Lines<LinedMessage>): { stop(): void } {
	const { hungMs = HUNG_MS, slots, gates, log } = context;
	let looking = false;
	let trustedUntil = 0;
	const look = async (): Promise<void> => {
		const stuck = lines.stuck(hungMs);
		if (stuck.length === 0) return;
		for (const { configId } of stuck) gates.hung.add(configId);
		await closeAll(
			context,
			stuck.map(({ configId, configVersion }) => ({
				configId,
				// What hangs at the old host says nothing of a config that was changed since.
				version: configVersion,
				reason: 'UNREACHABLE',
				detail: `All ${slots} connections of a sender have been waiting for an answer for ${Math.round(hungMs / 1_000)} s.`,
				seconds: null,
				error: null,
			})),
		);
		await handBackMessages(
			context,
			stuck.flatMap(({ configId }) => lines.drain(configId)).map((message) => ({ message, pause: null })),
		);
	};
	const timer = setInterval(
		() => {
			if (context.isAway()) trustedUntil = monotonic() + hungMs;
			if (looking || context.stopping() || monotonic() < trustedUntil) return;
			looking = true;
			look()
				.catch((error: unknown) => log.error({ err: error }, 'the gate of a config that hangs could not be closed'))
				.finally(() => {
					looking = false;
				});
		},
		Math.max(50, hungMs / 10),
	);
	return { stop: () => clearInterval(timer) };
}
