import { expect, test } from '@jest/globals';
import type { IncomingMessage } from './broker.js';
import { consume, eventually, numbered, publishAll, texts } from './contract-kit.js';
import { EmbeddedBroker } from './embedded.js';

const PLACE = { topic: 'mail-send-normal', subscription: 'mail-sender' };

async function withBroker(act: (broker: EmbeddedBroker, errors: unknown[]) => Promise<void>): Promise<void> {
	const errors: unknown[] = [];
	const broker = new EmbeddedBroker({ error: ({ err }) => errors.push(err) });
	await broker.ensureTopics([PLACE]);
	try {
		await act(broker, errors);
	} finally {
		await broker.close();
	}
}

/** Lets every immediate that is set now have its turn. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('every lost listener is called once, soon after it is added and never within on()', () =>
	withBroker(async (broker) => {
		const calls: string[] = [];
		const early = (): void => void calls.push('early');
		broker.on('lost', early);
		broker.on('lost', early);
		expect(calls).toEqual([]);
		await eventually('the early listener', () => calls.length > 0);
		broker.on('lost', early);
		broker.on('lost', () => calls.push('late'));
		await eventually('the late listener', () => calls.includes('late'));
		await nextTurn();
		expect(calls).toEqual(['early', 'late']);
	}));

test('away and back are never told', () =>
	withBroker(async (broker) => {
		const calls: string[] = [];
		broker.on('away', () => calls.push('away'));
		broker.on('back', () => calls.push('back'));
		broker.on('lost', () => calls.push('lost'));
		await eventually('the lost listener', () => calls.length > 0);
		expect(calls).toEqual(['lost']);
	}));

test('a listener that throws is reported and keeps nobody else from hearing', () =>
	withBroker(async (broker, errors) => {
		let heard = false;
		const error = new Error('listener');
		broker.on('lost', () => {
			throw error;
		});
		broker.on('lost', () => {
			heard = true;
		});
		await eventually('the second listener', () => heard);
		expect(errors).toEqual([error]);
	}));

test('a handler that throws is reported; one that acked before is not given the message again', () =>
	withBroker(async (broker, errors) => {
		const error = new Error('handler');
		const { got } = await consume(broker, { ...PLACE, slots: 1 }, (message) => {
			message.ack();
			if (got.length === 1) throw error;
		});
		await publishAll(broker, texts(PLACE.topic, 'one', 'two'));
		await eventually('the second message', () => got.length === 2);
		expect(errors).toEqual([error]);
		expect(await broker.backlog(PLACE.topic, PLACE.subscription)).toBe(0);
	}));

test('a large backlog leaves the event loop its turns and still arrives completely, in order', () =>
	withBroker(async (broker) => {
		const { got, texts: received } = await consume(broker, { ...PLACE, slots: 10 });
		await publishAll(broker, texts(PLACE.topic, ...numbered(20_000)));
		await nextTurn();
		expect(got.length).toBeGreaterThan(0);
		expect(got.length).toBeLessThan(20_000);
		await eventually('the backlog', () => got.length >= 20_000);
		expect(received()).toEqual(numbered(20_000));
	}));

test('a handler that nacks without delay for ever leaves the event loop its turns', () =>
	withBroker(async (broker) => {
		const { got } = await consume(broker, { ...PLACE, slots: 1 }, (message) => message.nack(0));
		await publishAll(broker, texts(PLACE.topic, 'again and again'));
		await eventually('many redeliveries', () => got.length > 1_000);
		expect(got[1_000]?.redeliveryCount).toBe(1_000);
	}));

test('messages nacked with several delays come again in the order of their delays', () =>
	withBroker(async (broker) => {
		const delays = [400, 100, 300, 0, 200];
		const { got } = await consume(broker, { ...PLACE, slots: 10 }, (message) => {
			if (message.redeliveryCount > 0) return message.ack();
			message.nack(Number(Buffer.from(message.payload).toString()));
		});
		await publishAll(broker, texts(PLACE.topic, ...delays.map(String)));
		await eventually('every redelivery', () => got.length === delays.length * 2);
		const again = got.filter(({ redeliveryCount }) => redeliveryCount > 0).map(({ payload }) => Number(Buffer.from(payload).toString()));
		expect(again).toEqual(delays.toSorted((one, other) => one - other));
	}));

test('the first of ack and nack counts, and a late ack of an earlier delivery settles nothing', () =>
	withBroker(async (broker) => {
		const { got } = await consume(broker, { ...PLACE, slots: 1 }, () => undefined);
		await publishAll(broker, texts(PLACE.topic, 'one'));
		await eventually('the first delivery', () => got.length === 1);
		got[0]?.nack(0);
		await eventually('the redelivery', () => got.length === 2);
		got[0]?.ack();
		expect(await broker.backlog(PLACE.topic, PLACE.subscription)).toBe(1);
		got[1]?.ack();
		got[1]?.nack(0);
		expect(await broker.backlog(PLACE.topic, PLACE.subscription)).toBe(0);
		await nextTurn();
		expect(got.length).toBe(2);
	}));

test('the count of redeliveries begins anew when the consumer closes', () =>
	withBroker(async (broker) => {
		const first = await consume(broker, { ...PLACE, slots: 1 }, (message) => message.redeliveryCount < 3 && message.nack(0));
		await publishAll(broker, texts(PLACE.topic, 'counted'));
		await eventually('three redeliveries', () => first.got.length === 4);
		await first.subscription.close();
		await first.subscription.close();
		const second = await consume(broker, { ...PLACE, slots: 1 });
		await eventually('the message at the second', () => second.got.length === 1);
		expect(second.got[0]?.redeliveryCount).toBe(0);
	}));

test('consumers with free slots take turns', () =>
	withBroker(async (broker) => {
		const one = await consume(broker, { ...PLACE, slots: 50 }, () => undefined);
		const two = await consume(broker, { ...PLACE, slots: 50 }, () => undefined);
		await publishAll(broker, texts(PLACE.topic, ...numbered(60)));
		await eventually('every message held', () => one.got.length + two.got.length === 60);
		expect([one.got.length, two.got.length]).toEqual([30, 30]);
	}));

test('consumers take turns also when messages come one at a time', () =>
	withBroker(async (broker) => {
		const one = await consume(broker, { ...PLACE, slots: 5 });
		const two = await consume(broker, { ...PLACE, slots: 5 });
		for (let sent = 1; sent <= 10; sent++) {
			await publishAll(broker, texts(PLACE.topic, `message ${sent}`));
			await eventually('the message', () => one.got.length + two.got.length === sent);
		}
		expect([one.got.length, two.got.length]).toEqual([5, 5]);
	}));

test.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('a consumer with %p slots is refused', (slots) =>
	withBroker(async (broker) => {
		await expect(broker.subscribe({ ...PLACE, slots, onMessage: () => undefined })).rejects.toThrow(RangeError);
	}),
);

test('a subscription that nobody ensured is refused by its name', () =>
	withBroker(async (broker) => {
		await expect(consume(broker, { topic: PLACE.topic, subscription: 'stranger', slots: 1 })).rejects.toThrow(/stranger/);
	}));

test('a closed broker leaves no timer and no turn behind, also when handlers settle late', async () => {
	const before = waits();
	const held: IncomingMessage[] = [];
	await withBroker(async (broker) => {
		await consume(broker, { ...PLACE, slots: 2 }, (message) => held.push(message));
		await publishAll(broker, texts(PLACE.topic, 'one', 'two', 'three'));
		await eventually('two are held', () => held.length === 2);
		held[0]?.nack(3_600_000);
		expect(waits()).toBeGreaterThan(before);
		broker.on('lost', () => held.splice(0));
	});
	held[1]?.nack(3_600_000);
	held[1]?.ack();
	expect(waits()).toBe(before);
	await nextTurn();
	expect(held.length).toBe(2);
});

/** How many timers and immediates the process waits for. */
function waits(): number {
	return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout' || kind === 'Immediate').length;
}
