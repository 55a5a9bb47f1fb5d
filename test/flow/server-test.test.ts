import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { open, parseKeys } from '@tidings/crypto';
import { type Answer, startApi, type TestApi } from '../harness/api.js';
import { eventually } from '../harness/eventually.js';
import { type Mesh, makeMesh } from '../harness/mesh.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';

let mesh: Mesh;
let sink: SmtpSink;
let api: TestApi;
beforeAll(async () => {
	mesh = await makeMesh();
	sink = await startSmtpSink({ login: { username: 'shop', password: 'right' } });
	const secretKeys = `k1:${randomBytes(32).toString('base64')}`;
	const keyring = parseKeys(secretKeys);
	api = await startApi({ databaseUrl: mesh.url, secretKeys });
	await mesh.publish();
	await mesh.send({ openSecret: (sealed, field) => open(keyring, sealed, field) });
});
afterAll(async () => {
	await api.stop();
	await mesh.close();
	await sink.close();
});

const SERVER = { host: '127.0.0.1', security: 'none', username: 'shop', from: { address: 'shop@example.com', name: 'Shop' } };
const patch = (path: string, body: object): Promise<Answer> => api.call(path, { method: 'PATCH', headers: { 'if-match': '*' }, body });
const ended = (id: string): Promise<Answer['body']> =>
	eventually(async () => {
		const { body } = await api.call(`/v1/messages/${id}`);
		return body.finishedAt === null ? null : body;
	});

test('a wrong password is seen by one test, in the words of the server; with the right one the test arrives, also through a server that is not active', async () => {
	const { headers, body: server } = await api.call('/v1/mail-servers', {
		body: { ...SERVER, name: 'Relay', port: sink.port, password: 'wrong', active: false },
	});
	const path = String(headers.get('location'));
	const { body: first } = await api.call(`${path}:test`, { method: 'POST' });
	expect(await ended(first.id)).toMatchObject({
		status: 'DEAD_LETTER',
		attempts: 1,
		lastError: { category: 'AUTH', stage: 'AUTH', code: '535', text: expect.stringContaining('wrong name or password') },
	});
	expect((await patch(path, { password: 'right' })).status).toBe(200);
	const { body: second } = await api.call(`${path}:test`, { body: { to: 'ann@example.com' } });
	expect(await ended(second.id)).toMatchObject({ status: 'SENT', serverId: server.id, attempts: 1 });
	expect(sink.mails.map(({ from, to }) => ({ from, to }))).toEqual([{ from: 'shop@example.com', to: ['ann@example.com'] }]);
	expect(sink.mails[0]?.raw.toString()).toMatch(/Subject: Test of the mail server Relay/);
});

test('a refusal for now ends a test as well: it has one attempt', async () => {
	const { body: server } = await api.call('/v1/mail-servers', { body: { ...SERVER, name: 'Busy', port: sink.port, password: 'right' } });
	const rule = sink.script({ stage: 'RCPT', answer: { kind: 'refuse', code: 451, enhancedCode: '4.3.0', text: 'later' } });
	const { body: test } = await api.call(`/v1/mail-servers/${server.id}:test`, { method: 'POST' });
	expect(await ended(test.id)).toMatchObject({ status: 'DEAD_LETTER', attempts: 1, lastError: { code: '451' } });
	rule.release();
});

test('a mail that was accepted for a server still goes through it when it was switched off since; deleted it can be when the mail is out', async () => {
	const { headers, body: server } = await api.call('/v1/mail-servers', {
		body: { ...SERVER, name: 'Off', port: sink.port, password: 'right', default: true },
	});
	const path = String(headers.get('location'));
	const rule = sink.script({ stage: 'CONN', answer: { kind: 'hang' } });
	const { body: sent } = await api.call('/v1/mails', { body: { to: ['late@example.com'], subject: 's', text: 't' } });
	await rule.met();
	expect((await patch(path, { active: false })).body).toMatchObject({ active: false, default: false });
	expect((await api.call(path, { method: 'DELETE', headers: { 'if-match': '*' } })).body.detail).toContain('(SENDING)');
	rule.release();
	expect(await ended(sent.id)).toMatchObject({ status: 'SENT', serverId: server.id });
	expect((await api.call(path, { method: 'DELETE', headers: { 'if-match': '*' } })).status).toBe(204);
	expect((await api.call(`/v1/messages/${sent.id}`)).body).toMatchObject({ status: 'SENT', serverId: server.id });
});
