import { type ConfigUse, findConfigs, type GateClosing } from '@tidings/db';
import type { Denial, Room } from '@tidings/limits';
import { monotonic, newId, random } from '@tidings/model';
import { channelLabel } from '@tidings/telemetry';
import { closeAll } from './close-gate.js';
import type { DeliveryContext } from './context.js';
import { giveUp } from './give-up.js';
import { handBackMessages, type ToHandBack } from './hand-back-messages.js';
import type { Lines } from './lines.js';
import type { LinedMessage } from './message.js';

/** A window does not open for all at the same moment: a minute by up to 2 s later, a day by up to 60 s. */
const JITTER_SECONDS = { min: 2, daily: 60 } as const;
/** What did not fit into the rest of a window may go a moment after the next one has begun. */
const MISFIT_SECONDS = 0.1;
/** Who waited in a line longer than this may know limits that are gone. */
const FRESH_MS = 1_000;

const LIMIT_OF = { min: 'a minute', daily: 'a day (UTC)' } as const;

/**
 * Takes room in the rate windows for these messages, and answers which of them found it, with their room. What is too large for the rest of a window waits in the tables for the next one, alone;
 * when a window is shut the whole line of its config goes back into the tables, and waits there. A sender that stops while nothing can be counted lets them go.
 */
export async function passWindows(
	context: DeliveryContext,
	lines: Lines<LinedMessage>,
	taken: readonly LinedMessage[],
): Promise<ReadonlyMap<LinedMessage, Room>> {
	let found: { through: ReadonlyMap<LinedMessage, Room>; denied: readonly Denied[] };
	try {
		found = await takeRoom(context, await readAgain(context, taken));
	} catch (error) {
		if (context.stopping()) for (const message of taken) message.letGo();
		else await giveUp(context, taken, error);
		return new Map();
	}
	// What found room goes on, whatever becomes of the others.
	await turnAway(context, lines, found.denied);
	return found.through;
}

async function turnAway(context: DeliveryContext, lines: Lines<LinedMessage>, denied: readonly Denied[]): Promise<void> {
	if (denied.length === 0) return;
	try {
		const shut = await closeShut(context, denied);
		const back = denied.map(({ message, use, denial }) => ({ message, pause: denial.shut ? null : pauseOf(use, denial) }));
		const lined = [...shut].flatMap((configId) => lines.drain(configId)).map((message): ToHandBack => ({ message, pause: null }));
		await handBackMessages(context, [...back, ...lined]);
	} catch (error) {
		await giveUp(
			context,
			denied.map((one) => one.message),
			error,
		);
	}
}

type Asked = { readonly message: LinedMessage; readonly use: ConfigUse };
type Denied = Asked & { readonly denial: Denial };

async function readAgain({ db, persist, freshMs = FRESH_MS }: DeliveryContext, taken: readonly LinedMessage[]): Promise<Asked[]> {
	const old = taken.filter((message) => monotonic() - message.receivedAt >= freshMs);
	const uses = old.length === 0 ? new Map<string, ConfigUse>() : await persist(() => findConfigs(db.pool, old));
	// What is not found any more is asked for as before: the claim finds nothing either.
	return taken.map((message) => ({ message, use: uses.get(message.recordId) ?? message }));
}

/** In one round trip. While nothing can be counted nothing goes through: it is tried again until it can be. Rejects when the sender stops meanwhile. */
async function takeRoom(
	{ limits, provider, metrics, persistLimits }: DeliveryContext,
	asked: readonly Asked[],
): Promise<{ through: Map<LinedMessage, Room>; denied: Denied[] }> {
	const { channel } = provider;
	const name = newId();
	const requests = asked.map(({ use: { ownerId, configId, cost, perMinute, perDay } }) => ({
		channel,
		tenantId: ownerId,
		configId,
		cost,
		perMinute,
		perDay,
	}));
	const answers = await persistLimits(() => limits.take(name, requests));
	const through = new Map<LinedMessage, Room>();
	const denied: Denied[] = [];
	for (const [index, one] of asked.entries()) {
		const answer = answers[index];
		if (answer === undefined) throw new Error('the rate windows did not answer for every message');
		if ('room' in answer) through.set(one.message, answer.room);
		else {
			denied.push({ ...one, denial: answer.denial });
			metrics.rateLimitDenialsTotal.inc({ channel: channelLabel(channel), window: answer.denial.window });
		}
	}
	return { through, denied };
}

/** Closes the gates of configs whose window is shut, until it opens. Answers whose. */
async function closeShut(context: DeliveryContext, denied: readonly Denied[]): Promise<ReadonlySet<string>> {
	const shut = denied.filter(({ denial }) => denial.shut);
	await closeAll(
		context,
		shut.map(
			({ use: { configId, configVersion }, denial: { window, opensInMs } }): GateClosing => ({
				configId,
				version: configVersion,
				reason: 'RATE',
				detail: `The limit of recipients ${LIMIT_OF[window]} is reached.`,
				seconds: opensInMs / 1_000 + random() * JITTER_SECONDS[window],
				error: null,
			}),
		),
	);
	return new Set(shut.map(({ use }) => use.configId));
}

function pauseOf({ configId, configVersion }: ConfigUse, { opensInMs }: Denial): ToHandBack['pause'] {
	return { seconds: opensInMs / 1_000 + random() * MISFIT_SECONDS, configId, configVersion };
}
