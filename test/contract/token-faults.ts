import assert from 'node:assert/strict';
import { signPulsarToken } from '../harness/pulsar-token.js';
import { openDriver } from './driver.js';
import { type FaultBench, fresh, freshPlace, gather, inTime, keepLog, publishAll, publishOne, textOf, using } from './fault-kit.js';

/** A Pulsar that demands tokens signed with `secret`. */
export type TokenBench = FaultBench & { readonly secret: Buffer };

/** What a driver owes to a broker that demands tokens. In this order: the last one leaves a broker that asks nobody. */
export const TOKEN_FAULTS: readonly { readonly name: string; run(bench: TokenBench): Promise<void> }[] = [
	{ name: 'with a good token messages flow', run: goodToken },
	{ name: 'without a token, with a wrong one, and without permission nothing is confirmed, and why is said and logged', run: badTokens },
	{ name: 'a token that expires is told in the log at the next connection, and the driver keeps trying', run: expiringToken },
];

async function goodToken({ driver, pulsar, namespace, secret }: TokenBench): Promise<void> {
	await using(await openDriver(driver, pulsar, { namespace, token: signPulsarToken(secret, 'admin') }), async (broker) => {
		const place = freshPlace();
		await broker.ensureTopics([place]);
		const { texts } = await gather(broker, place);
		const messages = fresh(place.topic, 10);
		await publishAll(broker, messages);
		await inTime('every message', () => messages.every((message) => texts.has(textOf(message))));
		await inTime('nothing left over', async () => (await broker.backlog(place.topic, place.subscription)) === 0);
	});
}

async function badTokens({ driver, pulsar, namespace, secret }: TokenBench): Promise<void> {
	const place = freshPlace();
	await using(await openDriver(driver, pulsar, { namespace, token: signPulsarToken(secret, 'admin') }), (broker) =>
		broker.ensureTopics([place]),
	);
	const tokens = {
		none: undefined,
		'signed by another': signPulsarToken(Buffer.alloc(32, 'other'), 'admin'),
		'no token at all': 'nonsense',
		'expired long ago': signPulsarToken(secret, 'admin', -3_600),
		'of a role without permission': signPulsarToken(secret, 'stranger'),
	};
	for (const [what, token] of Object.entries(tokens)) {
		const log = keepLog();
		await using(await openDriver(driver, pulsar, { namespace, log, ...(token === undefined ? {} : { token }) }), async (broker) => {
			const result = await publishOne(broker, place.topic);
			assert.ok(result.kind === 'away' || result.kind === 'refused', `${what}: publish answered ${result.kind}`);
			assert.match(result.reason, REFUSED, what);
			await assert.rejects(broker.subscribe({ ...place, slots: 1, onMessage: () => undefined }), REFUSED, what);
			await assert.rejects(broker.ensureTopics([freshPlace()]), REFUSED, what);
			// Who it is, the broker knows of the last one; it lets it do nothing with these topics, and that is told to whoever asks for them.
			if (what !== 'of a role without permission') {
				assert.equal(broker.connected(), false, what);
				await inTime(`${what}: a log line`, () => log.lines.some((line) => REFUSED.test(line)));
			}
			if (token !== undefined) assert.ok(!`${result.reason}${log.lines.join()}`.includes(token), `${what}: the token is repeated`);
		});
	}
}

/** How a refused token is called, by whoever tells of it. */
const REFUSED = /401|403|token|authenti|authoriz|not allowed|permission/i;

async function expiringToken({ driver, pulsar, namespace, secret }: TokenBench): Promise<void> {
	const log = keepLog();
	const place = freshPlace();
	await using(await openDriver(driver, pulsar, { namespace, token: signPulsarToken(secret, 'admin') }), (broker) =>
		broker.ensureTopics([place]),
	);
	const seconds = 15;
	const expired = performance.now() + (seconds + 1) * 1_000;
	await using(await openDriver(driver, pulsar, { namespace, log, token: signPulsarToken(secret, 'admin', seconds) }), async (broker) => {
		const { texts } = await gather(broker, place);
		await publishAll(broker, fresh(place.topic, 10));
		await inTime('the first messages', () => texts.size === 10);
		await inTime('the token expired', () => performance.now() > expired);

		await pulsar.restart();
		await inTime('a log line about the token', () => log.lines.some((line) => REFUSED.test(line)));
		const result = await publishOne(broker, place.topic);
		assert.equal(result.kind, 'away');
		assert.equal(broker.connected(), false);

		// What lets it in again here is a broker that asks for none; what matters is that the driver is still trying.
		await pulsar.restart({ authenticationEnabled: 'false', authorizationEnabled: 'false' });
		await inTime('the broker back', () => broker.connected());
		const messages = fresh(place.topic, 10);
		await publishAll(broker, messages);
		await inTime('the messages after it', () => messages.every((message) => texts.has(textOf(message))));
	});
}
