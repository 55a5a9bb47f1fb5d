import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { monotonic, newId } from '@tidings/model';
import type { Broker, IncomingMessage, OutgoingMessage, Place, SubscribeOptions, Subscription } from './broker.js';

/** How long a case waits for what must happen, in milliseconds. */
const LIMIT_MS = 20_000;

/** Opens a broker of the driver under test. The case closes it. */
export type MakeBroker = () => Promise<Broker>;

/** One rule that every driver keeps. `run` rejects, with what was expected and what came, when the driver breaks it. */
export type ContractCase = { readonly name: string; run(makeBroker: MakeBroker): Promise<void> };

/** A case that gets an open broker and a fresh topic with one subscription; afterwards the broker is closed. */
export function contractCase(name: string, act: (broker: Broker, place: Place) => Promise<void>): ContractCase {
	return {
		name,
		async run(makeBroker) {
			const broker = await makeBroker();
			try {
				const place = { topic: freshTopic(), subscription: 'first' };
				await broker.ensureTopics([place]);
				await act(broker, place);
			} finally {
				await broker.close();
			}
		},
	};
}

/** A topic name that nobody has used. */
export function freshTopic(): string {
	return `contract-${newId()}`;
}

/** Waits until `condition` holds; rejects with `what` when it does not within the limit. */
export async function eventually(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
	const end = monotonic() + LIMIT_MS;
	while (!(await condition())) {
		assert.ok(monotonic() < end, `${what}: not within ${LIMIT_MS / 1_000} s`);
		await wait(5);
	}
}

/** Messages of a topic, one for each text. */
export function texts(topic: string, ...payloads: readonly string[]): OutgoingMessage[] {
	return payloads.map((payload) => ({ topic, payload: Buffer.from(payload), properties: {} }));
}

/** `count` different texts. */
export function numbered(count: number): string[] {
	return Array.from({ length: count }, (_, n) => `message ${n}`);
}

/** Publishes and insists that every message is confirmed. */
export async function publishAll(broker: Broker, messages: readonly OutgoingMessage[]): Promise<void> {
	const results = await broker.publish(messages);
	assert.deepEqual(
		results,
		messages.map(() => ({ kind: 'confirmed' })),
	);
}

/** What a consumer got, in order. */
export type Inbox = { readonly got: IncomingMessage[]; readonly subscription: Subscription; texts(): string[] };

/** Starts a consumer that keeps what it gets, then gives it to `act`, which by default acks it. */
export async function consume(
	broker: Broker,
	options: Omit<SubscribeOptions, 'onMessage'>,
	act: (message: IncomingMessage) => void = (message) => message.ack(),
): Promise<Inbox> {
	const got: IncomingMessage[] = [];
	const onMessage = (message: IncomingMessage): void => {
		got.push(message);
		act(message);
	};
	const subscription = await broker.subscribe({ ...options, onMessage });
	return { got, subscription, texts: () => got.map(textOf) };
}

/** The payload as text. */
export function textOf(message: IncomingMessage): string {
	return Buffer.from(message.payload).toString();
}

/** Waits until the subscription has exactly `count` un-acked messages; acks may take a moment to arrive. */
export async function backlogIs(broker: Broker, { topic, subscription }: Place, count: number): Promise<void> {
	await eventually(`a backlog of ${count}`, async () => (await broker.backlog(topic, subscription)) === count);
}
