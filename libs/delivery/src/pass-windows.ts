import type { Denial } from '@tidings/limits';
import { random } from '@tidings/model';
import { channelLabel } from '@tidings/telemetry';
import { closeAll } from './close-gate.js';
import type { DeliveryContext } from './context.js';
import { giveUp } from './give-up.js';
import { handBackMessages } from './hand-back-messages.js';
import type { Lines } from './lines.js';
import type { LinedMessage } from './message.js';

/** A window does not open for all at the same moment: a minute by up to 2 s later, a day by up to 60 s. */
const JITTER_SECONDS = { min: 2, daily: 60 } as const;

/** Which messages found room in the windows of their config, and the configs in which there is none any more. */
type Passed = { readonly through: LinedMessage[]; readonly denied: LinedMessage[]; readonly full: ReadonlySet<string> };

/**
 * Takes room in the rate windows for these messages, and answers which of them found it. Where there is none the whole line of the config goes back into the tables, and waits there.
 * A sender that stops while nothing can be counted lets them go.
 */
export async function passWindows(
	context: DeliveryContext,
	lines: Lines<LinedMessage>,
	taken: readonly LinedMessage[],
): Promise<readonly LinedMessage[]> {
	try {
		const { through, denied, full } = await takeRoom(context, taken);
		await handBackMessages(context, [...denied, ...[...full].flatMap((configId) => lines.drain(configId))]);
		return through;
	} catch (error) {
		if (context.stopping()) for (const message of taken) message.letGo();
		else await giveUp(context, taken, error);
		return [];
	}
}

/**
 * Takes room in the rate windows for these messages, in one round trip; the gate of a config whose window is full closes until it opens. While nothing can be counted nothing goes through:
 * it is tried again until it can be. Rejects when the sender stops meanwhile.
 */
async function takeRoom(context: DeliveryContext, messages: readonly LinedMessage[]): Promise<Passed> {
	const { limits, provider, metrics } = context;
	const requests = messages.map(({ ownerId, configId, cost, perMinute, perDay }) => ({
		channel: provider.channel,
		tenantId: ownerId,
		configId,
		cost,
		perMinute,
		perDay,
	}));
	const denials = await context.persistLimits(() => limits.take(requests));
	const through: LinedMessage[] = [];
	const denied: LinedMessage[] = [];
	const full = new Map<string, Denial>();
	for (const [index, message] of messages.entries()) {
		const denial = denials[index] ?? null;
		if (denial === null) through.push(message);
		else {
			denied.push(message);
			full.set(message.configId, denial);
			metrics.rateLimitDenialsTotal.inc({ channel: channelLabel(provider.channel), window: denial.window });
		}
	}
	await closeAll(
		context,
		[...full].map(([configId, { window, opensInMs }]) => ({
			configId,
			version: null,
			reason: 'RATE',
			detail: window === 'min' ? 'The limit of recipients a minute is reached.' : 'The limit of recipients a day (UTC) is reached.',
			seconds: opensInMs / 1_000 + random() * JITTER_SECONDS[window],
			error: null,
		})),
	);
	return { through, denied, full: new Set(full.keys()) };
}
