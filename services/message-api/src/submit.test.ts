import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi, type TestApi } from '../../../test/harness/api.js';

let api: TestApi;
beforeAll(async () => {
	api = await startApi();
	const made = await api.call('/v1/mail-servers', {
		body: {
			name: 'main',
			host: '127.0.0.1',
			port: 25,
			security: 'none',
			from: { address: 'hello@example.com', name: 'Tidings' },
			allowedFrom: ['*@example.com'],
		},
	});
	expect(made).toMatchObject({ status: 201, body: { default: true, hasPassword: false } });
});
afterAll(async () => await api.stop());

const MAIL = { to: ['ann@example.com'], subject: 'Hello', text: 'Hi Ann' };

test('a mail is accepted with everything that belongs to it', async () => {
	const { status, headers, body } = await api.call('/v1/mails', { body: MAIL });
	console.log(status, body, Object.fromEntries(headers));
	expect(status).toBe(202);
	const got = await api.call(`/v1/messages/${body.id}`);
	console.log(JSON.stringify(got.body, null, 1));
	for (const p of ['attempts', 'timeline', 'content']) console.log(JSON.stringify((await api.call(`/v1/messages/${body.id}/${p}`)).body));
	console.log(JSON.stringify((await api.call(`/v1/messages/${body.id}:cancel`, { method: 'POST' })).body));
	console.log(JSON.stringify((await api.call(`/v1/messages?recipient=ann@example.com&status=CANCELLED&limit=1`)).body));
	console.log(JSON.stringify((await api.call(`/v1/messages/${body.id}:retry`, { body: { note: 'x' } })).body));
	console.log(JSON.stringify((await api.call(`/v1/messages/${body.id}/timeline`)).body));
	console.log(api.log.join(''));
});
