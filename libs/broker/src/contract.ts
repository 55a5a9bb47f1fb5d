import assert from 'node:assert/strict';
import { monotonic } from '@tidings/model';
import { deadLetterTopicOf, type IncomingMessage, MAX_PAYLOAD_BYTES, originOf } from './broker.js';
import {
	backlogIs,
	type ContractCase,
	consume,
	contractCase,
	eventually,
	freshTopic,
	type MakeBroker,
	numbered,
	publishAll,
	textOf,
	texts,
} from './contract-kit.js';

export type { ContractCase, MakeBroker };

/** Holds messages without settling them. */
const hold = (): void => undefined;

/** The contract of the port: one suite for every driver. Cases share nothing, need no test runner, and run against a broker that others use too. */
export const CONTRACT: readonly ContractCase[] = [
	contractCase('a nacked message comes again under its id, an acked one never does', async (broker, place) => {
		const { got, subscription } = await consume(broker, { ...place, slots: 5 }, (message) =>
			got.length === 1 ? message.nack(100) : message.ack(),
		);
		await publishAll(broker, texts(place.topic, 'once more'));
		await eventually('the redelivery', () => got.length === 2);
		assert.deepEqual(got.map(textOf), ['once more', 'once more']);
		assert.equal(got[1]?.id, got[0]?.id);
		assert.equal(got[0]?.redeliveryCount, 0);
		assert.ok((got[1]?.redeliveryCount ?? 0) >= 1, 'the redelivery is counted');
		await backlogIs(broker, place, 0);

		await subscription.close();
		const later = await consume(broker, { ...place, slots: 5 });
		await publishAll(broker, texts(place.topic, 'the next'));
		await eventually('the next message', () => later.got.length > 0);
		assert.deepEqual(later.texts(), ['the next']);
	}),

	contractCase('competing consumers get each message once between them', async (broker, place) => {
		const waiting: IncomingMessage[] = [];
		const one = await consume(broker, { ...place, slots: 5 }, (message) => waiting.push(message));
		const two = await consume(broker, { ...place, slots: 5 }, (message) => waiting.push(message));
		await publishAll(broker, texts(place.topic, ...numbered(200)));
		await eventually('both consumers at work', () => one.got.length > 0 && two.got.length > 0);
		await eventually('every message acked', async () => {
			for (const message of waiting.splice(0)) message.ack();
			return (await broker.backlog(place.topic, place.subscription)) === 0;
		});
		assert.deepEqual([...one.texts(), ...two.texts()].sort(), numbered(200).sort());
	}),

	contractCase('a consumer never holds more than its slots, also while it nacks', async (broker, place) => {
		const watch = { topic: place.topic, subscription: 'watch' };
		await broker.ensureTopics([watch]);
		const held: IncomingMessage[] = [];
		let most = 0;
		const busy = await consume(broker, { ...place, slots: 3 }, (message) => {
			held.push(message);
			most = Math.max(most, held.length);
		});
		const witness = await consume(broker, { ...watch, slots: 50 });
		await publishAll(broker, texts(place.topic, ...numbered(30)));
		await eventually('every message at the witness', () => witness.got.length === 30);
		await eventually('every slot in use', () => held.length === 3);
		assert.equal(busy.got.length, 3);

		let step = 0;
		await eventually('every message acked', async () => {
			const message = held.shift();
			if (message !== undefined) step++ % 3 === 0 ? message.nack(20) : message.ack();
			return (await broker.backlog(place.topic, place.subscription)) === 0;
		});
		assert.equal(most, 3);
		assert.deepEqual([...new Set(busy.texts())].sort(), numbered(30).sort());
	}),

	contractCase('what a closed consumer held goes to another, and its late ack does nothing', async (broker, place) => {
		const broken = await consume(broker, { ...place, slots: 4 }, hold);
		await publishAll(broker, texts(place.topic, ...numbered(10)));
		await eventually('the slots are full', () => broken.got.length === 4);
		await broken.subscription.close();
		for (const message of broken.got) message.ack();

		const heir = await consume(broker, { ...place, slots: 4 });
		await eventually('every message at the other', () => heir.got.length >= 10);
		assert.deepEqual(heir.texts().sort(), numbered(10).sort());
		assert.equal(broken.got.length, 4);
		await backlogIs(broker, place, 0);
	}),

	contractCase('a nacked message waits for its delay and leaves its slot to others', async (broker, place) => {
		const delay = 300;
		let nackedAt = 0;
		let backAfter = 0;
		const { got } = await consume(broker, { ...place, slots: 1 }, (message) => {
			if (textOf(message) === 'late' && nackedAt === 0) {
				nackedAt = monotonic();
				return message.nack(delay);
			}
			if (textOf(message) === 'late') backAfter = monotonic() - nackedAt;
			message.ack();
		});
		await publishAll(broker, texts(place.topic, 'late', 'other'));
		await eventually('both messages acked', async () => (await broker.backlog(place.topic, place.subscription)) === 0);
		assert.equal(got.length, 3);
		assert.ok(backAfter >= delay, `it came again after ${backAfter} ms, before its delay of ${delay} ms`);
	}),

	contractCase('properties and payload bytes arrive as they were published', async (broker, place) => {
		const payload = Uint8Array.from({ length: 256 }, (_, byte) => byte);
		const properties = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 'ключ "x"': '你好 🙂 ß\n{}', empty: '' };
		const { got } = await consume(broker, { ...place, slots: 5 });
		const sent = { topic: place.topic, payload: payload.slice(), properties: { ...properties } };
		await publishAll(broker, [sent, ...texts(place.topic, '{"name":"Zoë 王小明 👩‍💻"}')]);
		sent.payload.fill(0);
		sent.properties.empty = 'changed after publishing';
		await eventually('both messages', () => got.length === 2);
		const binary = got.find((message) => message.payload.length === 256);
		assert.deepEqual(new Uint8Array(binary?.payload ?? []), payload);
		assert.deepEqual({ ...binary?.properties }, properties);
		assert.equal(binary?.topic, place.topic);
		assert.ok(got.map(textOf).includes('{"name":"Zoë 王小明 👩‍💻"}'));
		assert.equal(new Set(got.map((message) => message.id)).size, 2);
	}),

	contractCase('the backlog counts waiting, held and delayed messages', async (broker, place) => {
		await publishAll(broker, texts(place.topic, ...numbered(7)));
		await backlogIs(broker, place, 7);
		const { got } = await consume(broker, { ...place, slots: 3 }, hold);
		await eventually('three are held', () => got.length === 3);
		await backlogIs(broker, place, 7);
		got[0]?.nack(60_000);
		await eventually('another takes the slot of the delayed one', () => got.length === 4);
		await backlogIs(broker, place, 7);
		got[1]?.ack();
		await eventually('another takes the slot of the acked one', () => got.length === 5);
		await backlogIs(broker, place, 6);
		await assert.rejects(broker.backlog(freshTopic(), place.subscription));
	}),

	contractCase('a paused consumer gets nothing and may ack, a resumed one goes on', async (broker, place) => {
		const watch = { topic: place.topic, subscription: 'watch' };
		await broker.ensureTopics([watch]);
		const paused = await consume(broker, { ...place, slots: 5 }, hold);
		const witness = await consume(broker, { ...watch, slots: 50 });
		await publishAll(broker, texts(place.topic, 'before'));
		await eventually('the first message', () => paused.got.length === 1);
		paused.subscription.pause();
		paused.got[0]?.ack();
		await publishAll(broker, texts(place.topic, ...numbered(20)));
		await eventually('every message at the witness', () => witness.got.length === 21);
		await backlogIs(broker, place, 20);
		assert.deepEqual(paused.texts(), ['before']);
		paused.subscription.resume();
		await eventually('the slots are full', () => paused.got.length === 6);
	}),

	contractCase('publish answers each message in its order', async (broker, place) => {
		const messages = numbered(100).flatMap((text, n) => texts(n % 7 === 3 ? freshTopic() : place.topic, text));
		const results = await broker.publish(messages);
		assert.deepEqual(
			results.map(({ kind }) => kind),
			messages.map(({ topic }) => (topic === place.topic ? 'confirmed' : 'no-topic')),
		);
		const { got } = await consume(broker, { ...place, slots: 200 });
		await eventually('every confirmed message', () => got.length === results.filter(({ kind }) => kind === 'confirmed').length);
		assert.deepEqual(await broker.publish([]), []);
	}),

	contractCase('a topic that does not exist takes no message and no consumer', async (broker, { subscription }) => {
		const topic = freshTopic();
		assert.deepEqual(await broker.publish(texts(topic, 'nowhere')), [{ kind: 'no-topic' }]);
		await assert.rejects(broker.subscribe({ topic, subscription, slots: 1, onMessage: hold }));
		await broker.ensureTopics([{ topic, subscription }]);
		await publishAll(broker, texts(topic, 'somewhere'));
	}),

	contractCase('a payload over the limit is refused and leaves its neighbours alone', async (broker, place) => {
		const large = { topic: place.topic, payload: new Uint8Array(MAX_PAYLOAD_BYTES + 1), properties: {} };
		const results = await broker.publish([...texts(place.topic, 'one'), large, ...texts(place.topic, 'two')]);
		assert.deepEqual(
			results.map(({ kind }) => kind),
			['confirmed', 'refused', 'confirmed'],
		);
		const { got } = await consume(broker, { ...place, slots: 5 });
		await eventually('both neighbours', () => got.length === 2);
		assert.deepEqual(got.map(textOf).sort(), ['one', 'two']);
		await backlogIs(broker, place, 0);
	}),

	contractCase('an ensured subscription keeps what is published before it has a consumer', async (broker, place) => {
		await publishAll(broker, texts(place.topic, ...numbered(20)));
		await broker.ensureTopics([place]);
		const { got, texts: received } = await consume(broker, { ...place, slots: 5 });
		await eventually('every message', () => got.length >= 20);
		assert.deepEqual(received().sort(), numbered(20).sort());
	}),

	contractCase('each subscription of a topic gets every message, and no other topic does', async (broker, place) => {
		const second = { topic: place.topic, subscription: 'second' };
		const elsewhere = { topic: freshTopic(), subscription: place.subscription };
		await broker.ensureTopics([second, elsewhere]);
		const inboxes = [await consume(broker, { ...place, slots: 5 }), await consume(broker, { ...second, slots: 5 })];
		const other = await consume(broker, { ...elsewhere, slots: 5 });
		await publishAll(broker, [...texts(place.topic, ...numbered(20)), ...texts(elsewhere.topic, 'other')]);
		for (const inbox of inboxes) await eventually('every message', () => inbox.got.length >= 20);
		for (const inbox of inboxes) assert.deepEqual(inbox.texts().sort(), numbered(20).sort());
		await eventually('the other message', () => other.got.length > 0);
		assert.deepEqual(other.texts(), ['other']);
	}),

	contractCase('a handler that throws breaks no other message and gets its own again', async (broker, place) => {
		let thrown = 0;
		const { got } = await consume(broker, { ...place, slots: 2 }, (message) => {
			if (textOf(message) === 'message 3' && thrown++ === 0) throw new Error('thrown on purpose by the contract');
			message.ack();
		});
		await publishAll(broker, texts(place.topic, ...numbered(10)));
		await backlogIs(broker, place, 0);
		assert.equal(thrown, 2);
		assert.equal(got.length, 11);
	}),

	contractCase('a message that is nacked too often goes to the dead-letter topic as it was, and the others flow', async (broker, place) => {
		const graveyard = { topic: deadLetterTopicOf(place.topic), subscription: 'dead' };
		await broker.ensureTopics([graveyard]);
		const { got } = await consume(broker, { ...place, slots: 2, maxRedeliveries: 2 }, (message) =>
			textOf(message) === 'poison' ? message.nack(10) : message.ack(),
		);
		const properties = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', ключ: '你好' };
		const poison = { topic: place.topic, payload: Buffer.from('poison'), properties };
		await publishAll(broker, [...texts(place.topic, ...numbered(5)), poison, ...texts(place.topic, 'behind it')]);
		const dead = await consume(broker, { ...graveyard, slots: 5 });
		await eventually('the dead letter', () => dead.got.length > 0);
		assert.deepEqual(dead.texts(), ['poison']);
		const [letter] = dead.got;
		assert.ok(letter !== undefined);
		for (const [key, value] of Object.entries(properties)) assert.equal(letter.properties[key], value);
		const seen = got.filter((message) => textOf(message) === 'poison');
		assert.ok(seen.length >= 3, `it was tried ${seen.length} times, not three times`);
		assert.deepEqual(originOf(letter), { topic: place.topic, messageId: seen[0]?.id });
		await backlogIs(broker, place, 0);
		await backlogIs(broker, graveyard, 0);
		assert.deepEqual([...new Set(got.map(textOf))].sort(), [...numbered(5), 'poison', 'behind it'].sort());
	}),

	contractCase('without a dead-letter topic a message keeps coming, and goes there once there is one', async (broker, place) => {
		const graveyard = { topic: deadLetterTopicOf(place.topic), subscription: 'dead' };
		const { got } = await consume(broker, { ...place, slots: 1, maxRedeliveries: 1 }, (message) => message.nack(10));
		await publishAll(broker, texts(place.topic, 'poison'));
		await eventually('more deliveries than allowed', () => got.length > 4);
		await backlogIs(broker, place, 1);
		await broker.ensureTopics([graveyard]);
		const dead = await consume(broker, { ...graveyard, slots: 1, maxRedeliveries: 1 }, (message) =>
			dead.got.length <= 4 ? message.nack(10) : message.ack(),
		);
		await eventually('a dead letter that is nacked often comes again', () => dead.got.length > 4);
		assert.deepEqual([...new Set(dead.texts())], ['poison']);
		await backlogIs(broker, place, 0);
		await backlogIs(broker, graveyard, 0);
	}),

	contractCase('a closed broker answers away and takes no consumer', async (broker, place) => {
		assert.equal(broker.connected(), true);
		await broker.close();
		assert.equal(broker.connected(), false);
		const results = await broker.publish(texts(place.topic, 'too', 'late'));
		assert.deepEqual(
			results.map(({ kind }) => kind),
			['away', 'away'],
		);
		await assert.rejects(broker.subscribe({ ...place, slots: 1, onMessage: hold }));
	}),
];
