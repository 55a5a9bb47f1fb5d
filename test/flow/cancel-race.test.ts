import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi, type TestApi } from '../harness/api.js';
import { eventually } from '../harness/eventually.js';
import { type Mesh, makeMesh } from '../harness/mesh.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';

let mesh: Mesh;
let api: TestApi;
let sink: SmtpSink;

beforeAll(async () => {
	mesh = await makeMesh();
	api = await startApi({ databaseUrl: mesh.url });
	sink = await startSmtpSink({ thinkMs: 5 });
	const server = { name: 'sink', host: sink.host, port: sink.port, security: 'none', from: { address: 'shop@example.com' } };
	expect((await api.call('/v1/mail-servers', { body: server })).status).toBe(201);
});
afterAll(async () => {
	await api.stop();
	await mesh.close();
	await sink.close();
});

const cancel = (id: string) => api.call(`/v1/messages/${id}:cancel`, { method: 'POST' });
const mailsOf = (id: string): number => sink.mails.filter((mail) => mail.messageId.includes(id)).length;

test('K33 a mail that was answered as cancelled never goes out, and one whose cancel is refused goes out once, however close they are', async () => {
	const items = Array.from({ length: 120 }, () => ({ to: ['ann@example.com'], subject: 'Hello', text: 'Hi' }));
	const ids: string[] = (await api.call('/v1/mails:batch', { body: { items } })).body.ids;
	await mesh.publish();
	await mesh.send();
	await eventually(() => sink.mails.length > 0, { what: 'a first mail' });
	// From the end, so that the two meet in the middle.
	const statuses = new Map<string, number>();
	for (const id of ids.toReversed()) statuses.set(id, (await cancel(id)).status);
	await eventually(async () => (await mesh.db.pool.query('select from outbox_entry')).rowCount === 0, { what: 'all to be done' });
	await eventually(
		async () => (await mesh.db.pool.query(`select from send_state where status not in ('SENT', 'CANCELLED')`)).rowCount === 0,
		{ what: 'all to be over' },
	);
	expect(new Set(statuses.values())).toEqual(new Set([200, 409]));
	expect(ids.filter((id) => mailsOf(id) !== (statuses.get(id) === 200 ? 0 : 1))).toEqual([]);
});

test('K33 once it is being sent a cancel is refused, and says so', async () => {
	const held = sink.script({ stage: 'RCPT', to: 'held@example.com', times: 1, answer: { kind: 'hang' } });
	const { id } = (await api.call('/v1/mails', { body: { to: ['held@example.com'], subject: 'Hello', text: 'Hi' } })).body;
	await held.met();
	expect((await cancel(id)).body).toMatchObject({ status: 409, detail: expect.stringContaining('SENDING') });
	held.release();
	await eventually(() => mailsOf(id) === 1, { what: 'the mail' });
});
