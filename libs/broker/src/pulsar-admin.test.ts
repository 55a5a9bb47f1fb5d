import { expect, test } from '@jest/globals';
import { eventually, numbered } from './contract-kit.js';
import { type Admin, createAdmin } from './pulsar-admin.js';
import { type FakePulsar, startFakePulsar } from './testing/fake-pulsar.js';

const PLACE = { topic: 'mail-send-normal', subscription: 'mail-sender' };
const TOPIC = '/admin/v2/persistent/public/default/mail-send-normal';
const SUBSCRIPTION = `${TOPIC}/subscription/mail-sender`;

async function withAdmin(act: (admin: Admin, fake: FakePulsar) => Promise<void>, timeoutMs = 5_000): Promise<void> {
	const fake = await startFakePulsar();
	const admin = createAdmin({ url: fake.adminUrl, namespace: 'public/default', token: 'marker-secret', timeoutMs });
	try {
		await act(admin, fake);
	} finally {
		admin.close();
		await fake.stop();
	}
}

const asked = (fake: FakePulsar): string[] => fake.requests.map(({ method, path }) => `${method} ${path}`);

test('a place that exists costs one request, with the token in its header', () =>
	withAdmin(async (admin, fake) => {
		fake.admin = () => ({ status: 409, body: '{"reason":"Subscription already exists for topic"}' });
		await admin.ensureTopics([PLACE]);
		expect(fake.requests).toEqual([{ method: 'PUT', path: SUBSCRIPTION, authorization: 'Bearer marker-secret' }]);
	}));

test.each([404, 412])('after %i the topic is made, and then its subscription, whoever was faster', (status) =>
	withAdmin(async (admin, fake) => {
		let topicIsThere = false;
		fake.admin = (_, path) => {
			if (path === TOPIC) topicIsThere = true;
			return { status: topicIsThere ? 409 : status };
		};
		await admin.ensureTopics([PLACE]);
		expect(asked(fake)).toEqual([`PUT ${SUBSCRIPTION}`, `PUT ${TOPIC}`, `PUT ${SUBSCRIPTION}`]);
	}),
);

test('many places are made a few at once', () =>
	withAdmin(async (admin, fake) => {
		fake.admin = (method) => (method === 'PUT' ? 'nothing' : { status: 200 });
		const making = admin.ensureTopics(numbered(100).map((topic) => ({ topic, subscription: 'mail-sender' }))).catch(() => 'ended');
		const puts = (): number => fake.requests.filter(({ method }) => method === 'PUT').length;
		await eventually('the first requests', () => puts() === 32);
		await admin.check();
		expect(puts()).toBe(32);
		admin.close();
		expect(await making).toBe('ended');
		const again = createAdmin({ url: fake.adminUrl, namespace: 'public/default' });
		fake.admin = () => ({ status: 204 });
		await again.ensureTopics(numbered(100).map((topic) => ({ topic, subscription: 'mail-sender' })));
		expect(new Set(asked(fake).slice(33)).size).toBe(100);
		again.close();
	}));

test('a namespace that is missing is named', () =>
	withAdmin(async (admin, fake) => {
		fake.admin = () => ({ status: 404, body: '{"reason":"Namespace not found"}' });
		await expect(admin.ensureTopics([PLACE])).rejects.toThrow(
			/\(Namespace not found\), asked for topic public\/default\/mail-send-normal$/,
		);
	}));

test.each([
	[401, /does not accept the token \(401\)/],
	[403, /does not allow this token .* \(403\)/],
	[500, /answered 500 \(metadata store is gone\)/],
])('a refusal with %i says what was refused and repeats no token', (status, text) =>
	withAdmin(async (admin, fake) => {
		fake.admin = () => ({ status, body: '{"reason":"metadata store is gone"}' });
		for (const act of [admin.ensureTopics([PLACE]), admin.backlog(PLACE.topic, PLACE.subscription), admin.check()]) {
			const error = await act.then(
				() => new Error('it was not refused'),
				(reason: Error) => reason,
			);
			expect(error.message).toMatch(text);
			expect(error.message).not.toContain('marker-secret');
		}
		expect(await admin.ready()).toBe(false);
	}),
);

test('the backlog of a partitioned topic is read over its partitions', () =>
	withAdmin(async (admin, fake) => {
		fake.admin = (_, path) =>
			path.startsWith(`${TOPIC}/stats`)
				? { status: 404 }
				: { status: 200, body: '{"subscriptions":{"mail-sender":{"msgBacklog":7,"consumers":[{"consumerName":"one"}]}}}' };
		expect(await admin.backlog(PLACE.topic, PLACE.subscription)).toBe(7);
		expect(await admin.consumers(PLACE.topic, PLACE.subscription)).toEqual(['one']);
		expect(asked(fake)[1]).toContain(`${TOPIC}/partitioned-stats?`);
		await expect(admin.backlog(PLACE.topic, 'other')).rejects.toThrow(/no subscription other/);
		expect(await admin.consumers(PLACE.topic, 'other')).toBeNull();
	}));

test('a topic that does not exist has no backlog and no consumers', () =>
	withAdmin(async (admin, fake) => {
		fake.admin = () => ({ status: 404 });
		await expect(admin.backlog(PLACE.topic, PLACE.subscription)).rejects.toThrow(/no topic mail-send-normal/);
		expect(await admin.consumers(PLACE.topic, PLACE.subscription)).toBeNull();
	}));

test('a redirect to the broker that owns the topic is followed with method and token', () =>
	withAdmin(async (admin, fake) => {
		const owner = await startFakePulsar();
		owner.admin = () => ({ status: 204 });
		fake.admin = (_, path) => ({ status: 307, location: `${owner.adminUrl}${path}` });
		await admin.ensureTopics([PLACE]);
		expect(owner.requests).toEqual([{ method: 'PUT', path: SUBSCRIPTION, authorization: 'Bearer marker-secret' }]);
		await owner.stop();
	}));

test('redirects without end, and one to another scheme, are refused', () =>
	withAdmin(async (admin, fake) => {
		fake.admin = (_, path) => ({ status: 307, location: path });
		await expect(admin.check()).rejects.toThrow(/without end/);
		expect(fake.requests.length).toBeLessThan(10);
		fake.admin = () => ({ status: 307, location: 'https://127.0.0.1:1/' });
		await expect(admin.check()).rejects.toThrow(/another scheme/);
	}));

test('a request that is not answered ends at its time-out', () =>
	withAdmin(async (admin, fake) => {
		fake.admin = () => 'nothing';
		await expect(admin.check()).rejects.toThrow(/no answer within 100 ms/);
	}, 100));

test('closing ends what is under way and refuses what comes later', () =>
	withAdmin(async (admin, fake) => {
		fake.admin = () => 'nothing';
		const checking = expect(admin.check()).rejects.toThrow(/closed/);
		await eventually('the request', () => fake.requests.length === 1);
		admin.close();
		await checking;
		await expect(admin.ensureTopics([PLACE])).rejects.toThrow(/closed/);
		expect(fake.requests.length).toBe(1);
	}));

test('an address or a namespace that cannot be one is refused at once', () => {
	expect(() => createAdmin({ url: 'ws://host', namespace: 'public/default' })).toThrow(/admin API/);
	expect(() => createAdmin({ url: 'http://host', namespace: 'default' })).toThrow(RangeError);
});
