import { countNacks, NACKS_BEFORE_POISON } from '@tidings/db';
import { encodeEnvelope } from '@tidings/model';
import { channelLabel } from '@tidings/telemetry';
import type { DeliveryContext } from './context.js';
import type { HeldMessage } from './message.js';
import { isPassing } from './persist.js';

const NACK_MS = 30_000;

/**
 * Hands messages back because handling them failed in a way that nobody understands, and counts that against their records; with the fifth failure a record is given up
 * as a dead letter and its message is acknowledged. A record that is claimed already has its lease and its budget, and is not counted. What cannot be counted, or archived,
 * comes back uncounted. When the database is away, which only a stopping process gives up on, nothing is handed back: the messages are let go.
 */
export async function giveUp(context: DeliveryContext, messages: readonly HeldMessage[], error: unknown): Promise<void> {
	if (context.stopping() && isPassing(error)) {
		for (const message of messages) message.letGo();
		return;
	}
	context.log.error(
		{ err: error, records: messages.map((one) => one.recordId) },
		'handling failed in an unknown way; the messages come back',
	);
	await count(context, messages, `handling failed ${NACKS_BEFORE_POISON} times: ${nameOf(error)}`);
}

async function count(context: DeliveryContext, messages: readonly HeldMessage[], reason: string): Promise<void> {
	const { db, log } = context;
	let poisoned: ReadonlySet<string>;
	try {
		poisoned = new Set(await context.persist(() => countNacks(db.pool, messages.map(nackedWith(reason)))));
	} catch (error) {
		if (messages.length > 1 && !isPassing(error)) {
			const half = messages.length >> 1;
			await count(context, messages.slice(0, half), reason);
			await count(context, messages.slice(half), reason);
			return;
		}
		log.error(
			{ err: error, records: messages.map((one) => one.recordId) },
			'a failure could not be counted; the message is kept and tried again',
		);
		for (const message of messages) isPassing(error) ? message.letGo() : nack(context, message);
		return;
	}
	for (const message of messages) {
		if (poisoned.has(message.recordId)) archived(context, message, reason);
		else nack(context, message);
	}
}

const nackedWith = (error: string) => (message: HeldMessage) => {
	const { recordId, tenantId, topic, messageId } = message;
	return { recordId, tenantId, topic, messageId, envelope: encodeEnvelope(message).toString(), error };
};

function nack({ metrics, route, nackMs }: DeliveryContext, message: HeldMessage): void {
	metrics.messagesConsumedTotal.inc({ route, lane: message.lane, result: 'nacked' });
	message.nack(nackMs ?? NACK_MS);
}

function archived({ log, metrics, route, provider }: DeliveryContext, message: HeldMessage, reason: string): void {
	const { recordId, tenantId, traceId, topic, messageId } = message;
	log.error(
		{ recordId, tenantId, traceId, topic, messageId, reason },
		'a record whose handling keeps failing was given up as a dead letter',
	);
	metrics.messagesConsumedTotal.inc({ route, lane: message.lane, result: 'poison' });
	metrics.deadLettersTotal.inc({ source: 'BROKER_POISON', channel: channelLabel(provider.channel) });
	message.ack();
}

/** What kind of error it was. Its message stays in the log, for it may repeat what a mail holds. */
function nameOf(error: unknown): string {
	if (!(error instanceof Error)) return typeof error;
	const { code } = error as Error & { code?: unknown };
	return typeof code === 'string' && /^[\w-]{1,40}$/.test(code) ? `${error.name} ${code}` : error.name;
}
