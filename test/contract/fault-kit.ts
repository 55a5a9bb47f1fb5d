import assert from 'node:assert/strict';
import type { Broker, BrokerLog, IncomingMessage, OutgoingMessage, Place, PublishResult } from '@tidings/broker';
import { newId } from '@tidings/model';
import { eventually } from '../harness/eventually.js';
import type { TestPulsar } from '../harness/pulsar.js';
import type { PulsarDriver } from './driver.js';

/** How long a case waits for what must happen, in milliseconds: a broker that starts on a busy machine needs half a minute, and the driver then dials again. */
const LIMIT_MS = 120_000;

/** What a case has to itself: a Pulsar that it may kill, left running, and a namespace in it. */
export type FaultBench = { readonly driver: PulsarDriver; readonly pulsar: TestPulsar; readonly namespace: string };

/** One rule that a driver of a real Pulsar keeps when something breaks. `run` rejects, with what was expected and what came, when the driver breaks the rule. */
export type FaultCase = { readonly name: string; run(bench: FaultBench): Promise<void> };

/** A place that nobody has used. */
export function freshPlace(): Place {
	return { topic: `faults-${newId()}`, subscription: 'first' };
}

/** `count` messages with texts of their own. */
export function fresh(topic: string, count: number): OutgoingMessage[] {
	return Array.from({ length: count }, () => ({ topic, payload: Buffer.from(newId()), properties: {} }));
}

/** The payload as text. */
export function textOf({ payload }: Pick<OutgoingMessage, 'payload'>): string {
	return Buffer.from(payload).toString();
}

/** Calls `act` with an open broker and closes it. */
export async function using(broker: Broker, act: (broker: Broker) => Promise<void>): Promise<void> {
	try {
		await act(broker);
	} finally {
		await broker.close();
	}
}

/** Waits for a condition as long as a broken broker may take to come back. */
export async function inTime(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
	await eventually(condition, { within: LIMIT_MS, what });
}

/** Consumes and acks; `texts` is the set of what came. */
export async function gather(broker: Broker, place: Place, slots = 50): Promise<{ readonly texts: Set<string> }> {
	const texts = new Set<string>();
	await broker.subscribe({
		...place,
		slots,
		onMessage: (message) => {
			texts.add(textOf(message));
			message.ack();
		},
	});
	return { texts };
}

/** Consumes and settles nothing. */
export async function hold(broker: Broker, place: Place, slots: number): Promise<IncomingMessage[]> {
	const held: IncomingMessage[] = [];
	await broker.subscribe({ ...place, slots, onMessage: (message) => void held.push(message) });
	return held;
}

/** Publishes the messages again and again, as a publisher does, until each is confirmed. Rejects when one is answered anything but confirmed and away. */
export async function publishAll(broker: Broker, messages: readonly OutgoingMessage[]): Promise<void> {
	let left = messages;
	let wrong: PublishResult | undefined;
	await inTime('every message confirmed', async () => {
		const results = await broker.publish(left);
		wrong = results.find(({ kind }) => kind !== 'confirmed' && kind !== 'away');
		left = left.filter((_, n) => results[n]?.kind !== 'confirmed');
		return left.length === 0 || wrong !== undefined;
	});
	assert.equal(wrong, undefined);
}

/** The one answer to one message. */
export async function publishOne(broker: Broker, topic: string): Promise<PublishResult> {
	const [result] = await broker.publish(fresh(topic, 1));
	assert.ok(result);
	return result;
}

/** A log that keeps its lines, each with its error. */
export function keepLog(): BrokerLog & { readonly lines: string[] } {
	const lines: string[] = [];
	const keep = ({ err }: { err: unknown }, text: string): void =>
		void lines.push(`${text}: ${err instanceof Error ? err.message : String(err)}`);
	return { lines, error: keep, warn: keep };
}
