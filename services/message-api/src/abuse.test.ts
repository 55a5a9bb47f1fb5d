import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi, type TestApi } from '../../../test/harness/api.js';
import { readAddress, readDomain } from './checks/address.js';

let api: TestApi;
beforeAll(async () => {
	api = await startApi();
	const server = { name: 'main', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' } };
	await api.call('/v1/mail-servers', { body: server });
});
afterAll(async () => await api.stop());

const MAIL = { to: ['ann@example.com'], subject: 'Hello', text: 'Hi Ann' };

test('texts beyond their length are refused by their length alone, and quickly', async () => {
	const tabs = `a${'\t'.repeat(200_000)}a`;
	const change = {
		to: [tabs, { address: 'ann@example.com', name: tabs }],
		from: tabs,
		subject: tabs,
		type: tabs,
		dedupeKey: tabs,
		notBefore: tabs,
		headers: { 'X-A': tabs, References: tabs },
		metadata: { a: tabs },
		attachments: [{ filename: tabs, contentType: tabs, contentId: tabs, content: '' }],
	};
	const { status, body } = await api.call('/v1/mails', { body: { ...MAIL, ...change } });
	expect(status).toBe(422);
	expect([...new Set(body.errors.map((one: { code: string }) => one.code))]).toEqual(['too-long']);
	expect(body.errors).toHaveLength(13);
});

test('K3 HTML with a picture of many megabytes in it is refused by its size, and a body beyond 40 MB before it is read', async () => {
	const html = (characters: number) => `<img src="data:image/png;base64,${'A'.repeat(characters)}">`;
	const long = await api.call('/v1/mails', { body: { ...MAIL, html: html(2_000_000) } });
	expect([long.status, long.body.errors]).toEqual([422, [expect.objectContaining({ code: 'too-long', pointer: '/html' })]]);
	expect((await api.call('/v1/mails', { body: { ...MAIL, html: html(50_000_000) } })).status).toBe(413);
});

test('an address of endless tabs is refused also where nobody counts it before', () => {
	expect(readAddress(`a${'\t'.repeat(200_000)}a`)).toBeNull();
	expect(readDomain('ü'.repeat(200_000))).toBeNull();
});

test('a template that is nested too deeply is refused as any other body is', async () => {
	const raw = `{"to":["ann@example.com"],"template":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;
	const { status, body } = await api.call('/v1/mails', { raw });
	expect([status, body.code, body.detail]).toEqual([400, 'malformed-request', expect.stringContaining('levels deep')]);
});
