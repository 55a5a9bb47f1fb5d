import { connect } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { findMarks } from '../harness/find-marks.js';
import { startForeignServer } from '../harness/foreign-tls.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';
import { sharedToken } from '../harness/token-issuer.js';
import { address, badMails, badServers, mail, serverOf } from './marked-bodies.js';
import { type MarkedMesh, secretOf, startMarkedMesh } from './marked-mesh.js';
import { CONTENTS as C, makeDkimKey, plainLogin, SECRETS as S, STORED } from './marks.js';

// I13: services as processes at their most talkative, and everybody around them repeats what they heard.

const dkim = makeDkimKey();
const toClose: { close(): Promise<void> }[] = [];
let marked: MarkedMesh;
beforeAll(async () => {
	marked = closeLater(await startMarkedMesh());
	Object.assign(marked.secrets, dkim.marks);
}, 240_000);
afterAll(async () => {
	for (const one of toClose.reverse()) await one.close();
}, 60_000);

function closeLater<T extends { close(): Promise<void> }>(one: T): T {
	toClose.push(one);
	return one;
}

async function submit(fate: string, change: object = {}): Promise<string> {
	const headers = { 'idempotency-key': `${C.idempotencyKey}-${fate}` };
	return (await marked.get('/v1/mails', { body: mail(fate, change), headers })).id;
}

const addServer = async (name: string, change: object): Promise<string> =>
	(await marked.get('/v1/mail-servers', { body: serverOf(marked.mesh.sink.port, name, change) })).id;

/** Servers that ask for a log-in and say it again: one lets in, one does not. */
async function startEchoes(): Promise<{ right: SmtpSink; wrong: SmtpSink }> {
	const [right, wrong] = await Promise.all([S.loginPassword, S.lockedPassword].map(startEcho));
	if (right === undefined || wrong === undefined) throw new Error('no sinks');
	const echo = `AUTH PLAIN ${plainLogin(C.username, S.loginPassword)}`;
	right.script({ stage: 'RCPT', times: 1, answer: { kind: 'refuse', code: 451, text: `you said ${echo}` } });
	right.script({ stage: 'DOT', answer: { kind: 'refuse', code: 250, text: `2.0.0 queued as ${S.loginPassword} after ${echo}` } });
	const words = `${S.lockedPassword} ${plainLogin(C.username, S.lockedPassword)} ${Buffer.from(S.lockedPassword).toString('base64')}`;
	wrong.script({
		stage: 'AUTH',
		answer: { kind: 'refuse', code: 535, enhancedCode: '5.7.8', text: `${C.username} is not known by ${words}` },
	});
	return { right, wrong };
}
const startEcho = async (password: string): Promise<SmtpSink> =>
	closeLater(await startSmtpSink({ login: { username: C.username, password } }));

test('mails of every fate end, while servers repeat addresses, contents and the whole log-in', async () => {
	const echo = `<${address(C.receiver, 'no')}> ${C.subjectText} ${C.bodyText} ${address(C.hidden, 'no')}`;
	const { sink } = marked.mesh;
	sink.script({ stage: 'RCPT', to: /-no\+/, answer: { kind: 'refuse', code: 550, enhancedCode: '5.1.1', text: echo } });
	sink.script({ stage: 'RCPT', to: address(C.copied, 'some'), answer: { kind: 'refuse', code: 554, text: echo } });
	sink.script({ stage: 'DOT', to: /-late\+/, answer: { kind: 'refuse', code: 451, text: echo } });
	sink.script({ stage: 'DOT', to: /-said\+/, answer: { kind: 'refuse', code: 250, text: `2.0.0 queued as ${echo}` } });
	sink.script({ stage: 'BODY', to: /-cut\+/, times: 1, answer: { kind: 'close' } });
	sink.script({ stage: 'DOT', to: /-held\+/, times: 1, answer: { kind: 'close' } });
	const [{ right, wrong }, busy, foreign] = await Promise.all([startEchoes(), startSmtpSink(), startForeignServer()]);
	closeLater(busy).script({ stage: 'CONN', answer: { kind: 'refuse', code: 554, text: `5.3.2 ${address(C.banner)} not here` } });
	closeLater(foreign);
	await addServer('main', { default: true, dkim: { domain: 'example.com', selector: 's1', privateKey: dkim.pem } });
	const free = { no: 'FAILED', some: 'SENT', late: 'DEAD_LETTER', said: 'SENT', cut: 'SENT', fine: 'SENT' };
	const pinned: [string, string, object][] = [
		['held', 'HELD', { ambiguous: 'hold' }],
		['login', 'SENT', { port: right.port, username: C.username, password: S.loginPassword }],
		['locked', 'DEAD_LETTER', { port: wrong.port, username: C.username, password: S.lockedPassword }],
		['banner', 'DEAD_LETTER', { port: busy.port }],
		['tls', 'DEAD_LETTER', { security: 'tls' }],
		['certificate', 'DEAD_LETTER', { security: 'tls', host: 'localhost', port: foreign.port }],
		['nowhere', 'DEAD_LETTER', { host: 'nowhere.invalid' }],
	];
	await Promise.all([
		...Object.entries(free).map(async ([fate, status]) => marked.ended(await submit(fate), status)),
		...pinned.map(async ([fate, status, change]) => {
			const serverId = await addServer(fate, change);
			const id = await submit(fate, { serverId });
			await marked.ended(id, status);
			if (fate === 'held') await act(id, 'release', { resolution: 'resend', note: C.noteText });
			if (fate === 'locked')
				await marked.ended((await marked.get(`/v1/mail-servers/${serverId}:test`, { body: { to: address(C.receiver) } })).id, status);
		}),
	]);
}, 150_000);

const act = (id: string, verb: string, body: object): Promise<unknown> => marked.get(`/v1/messages/${id}:${verb}`, { body });

test('people act and read, with names, notes and addresses in every field and query', async () => {
	const later = new Date(Date.now() + 3_600_000).toISOString();
	await act(await submit('later', { notBefore: later }), 'cancel', { note: `${C.noteText} ${address(C.receiver)}` });
	const { data } = await marked.get('/v1/messages?status=FAILED');
	await act(data[0].id, 'retry', { note: C.noteText });
	await marked.ended(data[0].id, 'FAILED');
	const mine = encodeURIComponent(address(C.receiver, 'no'));
	for (const query of [`recipient=${mine}`, `metadata.note=${C.metadata}`, `type=${C.searched}`]) await marked.get(`/v1/messages?${query}`);
	await marked.get(`/v1/dead-letters?text=${address(C.searched)}`);
	for (const path of ['', '/attempts', '/timeline', '/content']) await marked.get(`/v1/messages/${data[0].id}${path}`);
	for (const path of ['audit-events', 'api-keys', 'mail-servers?active=all', 'outbox-entries', 'stats?by=channel,status'])
		await marked.ask(`/v1/${path}`);
	await submit('fine');
	const { platformKey: key } = marked;
	const tenant = await marked.get('/v1/tenants', { key, body: { name: C.tenantName } });
	await marked.get(`/v1/tenants/${tenant.id}:suspend`, { key, body: {} });
});

test('keys and tokens, good ones and wrong ones, are used in every place', async () => {
	const made = await marked.get('/v1/api-keys', { body: { name: C.keyName, capabilities: ['messages:read', 'tenant:admin'] } });
	const rotated = await marked.get(`/v1/api-keys/${made.id}:rotate`, { body: { graceSeconds: 0 } });
	const wrong = `${made.key.slice(0, 21)}wrong${S.refusedPassword.padEnd(38, 'x')}`;
	const sub = address(C.tokenSubject);
	const claims = { sub, tenant_id: marked.mesh.tenantId, scope: 'messages:read' };
	const tokens = [
		sharedToken(marked.tokenSecret, claims),
		sharedToken(`${S.refusedPassword}-another-secret-to-sign-with`, claims),
		sharedToken(marked.tokenSecret, { ...claims, exp: 1 }),
		sharedToken(marked.tokenSecret, { ...claims, aud: sub }),
		sharedToken(marked.tokenSecret, { ...claims, tenant_id: sub }),
	];
	for (const [name, key] of Object.entries({ made: made.key, rotated: rotated.key, wrong })) marked.secrets[`${name}Key`] = secretOf(key);
	for (const [n, token] of tokens.entries()) marked.secrets[`token${n}`] = token.split('.')[2]?.slice(0, 30) ?? '';
	const statuses: number[] = [];
	for (const key of [rotated.key, wrong, rotated.key.slice(0, -9), `${rotated.key}=`, ...tokens])
		statuses.push((await marked.ask('/v1/messages', { key })).status);
	expect(statuses).toEqual([200, 401, 401, 401, 200, 401, 401, 401, 401]);
	expect((await marked.ask(`/v1/messages?key=${rotated.key}`)).status).toBe(400);
	expect((await marked.ask('/v1/messages', { headers: { 'tidings-tenant': rotated.key } })).status).toBe(403);
	expect((await marked.ask('/v1/api-keys', { body: { name: 'k', capabilities: [rotated.key] } })).status).toBe(422);
	await marked.get(`/v1/api-keys/${rotated.id}:revoke`, { method: 'POST' });
	expect((await marked.ask('/v1/messages', { key: rotated.key })).status).toBe(401);
});

test('what is refused holds addresses and secrets in the wrong place', async () => {
	const wrong = address(C.misplaced);
	const P = S.refusedPassword;
	const known = { 'idempotency-key': `${C.idempotencyKey}-late` };
	for (const body of badMails()) expect((await marked.ask('/v1/mails', { body, headers: known })).status).toBe(422);
	for (const change of badServers(P))
		expect((await marked.ask('/v1/mail-servers', { body: serverOf(marked.mesh.sink.port, 'bad', change) })).status).toBe(422);
	const locked = await addServer('changed', { username: C.username, password: P });
	const change = (version: string, body: object) =>
		marked.ask(`/v1/mail-servers/${locked}`, { method: 'PATCH', headers: { 'if-match': version }, body });
	expect((await change('*', { password: `${P}2` })).status).toBe(200);
	expect((await change('"9"', { password: P })).status).toBe(412);
	expect((await change('*', { password: `${P}\n` })).status).toBe(422);
	expect((await marked.ask('/v1/mails:batch', { body: { items: [mail('bad'), { ...badMails()[0] }] } })).status).toBe(422);
	for (const raw of [C.notJson, `{"to": "${address(C.notJson)}`, `{"password": "${P}" ${P}}`, `["${C.notJson}\u0000"]`])
		expect((await marked.ask('/v1/mails', { raw })).status).toBe(400);
	expect((await marked.ask('/v1/mails', { raw: C.notJson, headers: { 'content-type': `text/${C.notJson}` } })).status).toBe(415);
	for (const query of [
		`cursor=${wrong}`,
		`limit=${wrong}`,
		`createdAfter=${wrong}`,
		`${wrong}=1`,
		`status=${wrong}`,
		`recipient=%zz${wrong}`,
	])
		expect((await marked.ask(`/v1/messages?${query}`)).status).toBe(400);
	for (const path of [
		address(C.pathText),
		`messages/${address(C.pathText)}`,
		`messages/${encodeURIComponent(address(C.pathText))}/content`,
	])
		expect((await marked.ask(`/v1/${path}`)).status).toBe(404);
	const headers = {
		'idempotency-key': `${C.misplaced} ${'x'.repeat(300)}`,
		tracestate: `a=${C.headerText}`,
		baggage: `who=${address(C.headerText)}`,
		cookie: P,
		'x-api-key': P,
	};
	expect((await marked.ask('/v1/mails', { body: mail('bad'), headers })).status).toBe(400);
	expect(await sayRaw(`GET /${address(C.notJson)} HTTP/1.1\r\nHost ${C.notJson}\r\n\r\n`)).toMatch(/^HTTP\/1.1 400/);
});

/** Sends bytes that are no request, and answers what came back. */
async function sayRaw(words: string): Promise<string> {
	const { hostname, port } = new URL(marked.mesh.services[0]?.api() ?? '');
	const socket = connect(Number(port), hostname);
	socket.end(words);
	return await readAll(socket);
}

/** Puts something into a topic that is no message of ours. */
async function publishForeign(topic: string, text: string): Promise<void> {
	const message = { topic, payload: Buffer.from(`{"${address(text)}": "${text}"`), properties: { foreign: address(text) } };
	await eventually(async () => (await marked.witness.publish([message]))[0]?.kind === 'confirmed');
}

const saidBy = (service: string, msg: string): Promise<unknown> =>
	eventually(() => marked.mesh.services.some((one) => one.service === service && one.said(msg).length > 0), {
		within: 30_000,
		what: `${service} to say: ${msg}`,
	});

const POISONED = ['mail-send-normal', 'mail-send-urgent-DLQ'];

test('poison with an address is archived, and kept where it cannot be', async () => {
	const { pool } = marked.mesh.db;
	for (const topic of POISONED) await publishForeign(topic, C.poisonText);
	await saidBy('mail-sender', 'poison was archived as a dead letter');
	await saidBy('dead-letter', 'poison was archived as dead letters');
	await pool.query(`alter table dead_letter_message add constraint no_shut check (envelope::text not like '%shut%') not valid`);
	for (const topic of POISONED) await publishForeign(topic, `${C.notJson}-shut`);
	for (const service of ['mail-sender', 'dead-letter']) await saidBy(service, 'poison could not be archived and comes back');
	await marked.probe();
	await pool.query('alter table dead_letter_message drop constraint no_shut');
});

test('a database that refuses rows, and one that goes away, leave the mesh alive', async () => {
	const { mesh, proxy } = marked;
	await mesh.db.pool.query(`
		alter table send_recipient add constraint no_shut check (address not like '%-shut%') not valid;
		alter table mail_send_server_config add constraint no_shut check (name not like '%shut%') not valid;
		alter table delivery_attempt add constraint no_shut check (answer not like '%shut%') not valid`);
	expect((await marked.ask('/v1/mails', { body: mail('shut') })).status).toBe(500);
	const login = { username: C.username, password: S.refusedPassword };
	expect((await marked.ask('/v1/mail-servers', { body: serverOf(mesh.sink.port, 'shut', login) })).status).toBe(500);
	mesh.sink.script({ stage: 'RCPT', to: /-settle\+/, answer: { kind: 'refuse', code: 550, text: `${address(C.receiver)} is shut` } });
	const id = await submit('settle');
	await saidBy('mail-sender', 'handling failed in an unknown way; the messages come back');
	await mesh.db.pool.query('alter table delivery_attempt drop constraint no_shut; alter table send_recipient drop constraint no_shut');
	proxy.refuse(true);
	proxy.cut();
	const away = await Promise.all(['a', 'b', 'c'].map((fate) => marked.ask('/v1/mails', { body: mail(fate) })));
	expect(away.map(({ status }) => status)).toEqual([503, 503, 503]);
	await marked.ask(`/v1/messages?recipient=${encodeURIComponent(address(C.searched))}`);
	await marked.probe();
	proxy.heal();
	await eventually(async () => (await marked.ask('/v1/mails', { body: mail('back') })).status === 202, { within: 30_000 });
	await marked.ended(id, 'FAILED');
}, 90_000);

test('services with settings that are wrong say so without them', async () => {
	const P = S.refusedPassword;
	const wrong = [
		{ TIDINGS_SECRET_KEYS: `k1:${P}`, TIDINGS_JWT_SECRET: P.slice(0, 20), BROKER_TOKEN: `${P} x` },
		{ DATABASE_URL: `postgresql://tidings:x#${P}@127.0.0.1:1/x` },
		{ REDIS_URL: `redis://tidings:${P}/x@127.0.0.1:1` },
	];
	const ends = await Promise.all(wrong.map((settings) => marked.mesh.start('message-api', settings).ended()));
	expect(ends.map(({ code }) => code)).toEqual([78, 1, 78]);
	const [other] = await marked.mesh.startReady(['dead-letter', { OTEL_EXPORTER_OTLP_ENDPOINT: `http://x:${P}/x@127.0.0.1:1` }]);
	await other?.term();
}, 90_000);

test('a secret stands in no output, no answer and no table', async () => {
	expect(findMarks(marked.secrets, await marked.outputs())).toEqual([]);
});

test('addresses, names and contents stand in the tables, and in no log, metric, trace, message or refusal', async () => {
	const { tables = '', answers = '', ...outputs } = await marked.outputs();
	for (const [where, text] of Object.entries(outputs)) expect([where, text.length > 100]).toEqual([where, true]);
	expect(findMarks(C, outputs)).toEqual([]);
	const missing = Object.entries(STORED).filter(([name, mark]) => findMarks({ [name]: mark }, { tables }).length === 0);
	expect(missing).toEqual([]);
});

test('whoever may not read contents is shown no address', async () => {
	const { id, key } = await marked.get('/v1/api-keys', {
		body: { name: 'masked', capabilities: ['messages:read', 'dead-letters:triage'] },
	});
	const shown: string[] = [];
	for (const list of ['messages', 'dead-letters']) {
		const { data } = await marked.get(`/v1/${list}?limit=200`, { key });
		for (const one of data) shown.push(JSON.stringify(await marked.get(`/v1/${list}/${one.id}`, { key })));
	}
	const { receiver, copied, hidden } = C;
	expect(findMarks({ receiver, copied, hidden }, { shown: shown.join('\n') })).toEqual([]);
	await marked.get(`/v1/api-keys/${id}:revoke`, { method: 'POST' });
});
