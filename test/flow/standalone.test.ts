import { statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { parseMail } from '../harness/parse-mail.js';
import { call, caughtMails, type Facts, makeDataDir, type Standalone, startedStandalone, startStandalone } from '../harness/standalone.js';

let dir: { path: string; drop(): void };
let running: Standalone;

beforeAll(async () => {
	dir = makeDataDir();
	running = await startedStandalone(dir.path);
}, 60_000);
afterAll(async () => {
	await running.stop();
	dir.drop();
});

async function statuses(facts: Facts, ids: readonly string[]): Promise<Map<string, { status: string; ambiguous: boolean }>> {
	const found = new Map<string, { status: string; ambiguous: boolean }>();
	for (let cursor: string | null = ''; cursor !== null; ) {
		const page: Awaited<ReturnType<typeof call>> = await call(
			facts,
			'GET',
			`/v1/messages?limit=200${cursor === '' ? '' : `&cursor=${cursor}`}`,
		);
		for (const one of page.body.data) if (ids.includes(one.id)) found.set(one.id, one);
		cursor = page.body.nextCursor;
	}
	return found;
}

const mailsOf = (mails: readonly { messageId: string }[], id: string) => mails.filter((mail) => mail.messageId.includes(id)).length;

test('the printed command sends a mail that can be read in the catcher, and the record tells the whole story', async () => {
	const { facts } = running;
	expect(running.output()).toContain(`curl -s ${facts.api}/v1/mails`);
	const accepted = await call(facts, 'POST', '/v1/mails', { to: ['ann@example.com'], subject: 'Hello from Tidings', text: 'It works.' });
	expect(accepted).toMatchObject({ status: 202, body: { id: expect.any(String), status: 'PENDING', createdAt: expect.any(String) } });
	expect(accepted.headers.get('location')).toBe(`/v1/messages/${accepted.body.id}`);
	const { id } = accepted.body;
	await eventually(async () => (await call(facts, 'GET', `/v1/messages/${id}`)).body.status === 'SENT');
	const [mail] = await caughtMails(facts);
	expect(mail).toMatchObject({ messageId: `<${id}@example.com>`, subject: 'Hello from Tidings', to: ['ann@example.com'] });
	const timeline = await call(facts, 'GET', `/v1/messages/${id}/timeline`);
	expect(timeline.body.data.map((entry) => entry.event)).toEqual(['accepted', 'published', 'claimed', 'attempt', 'settled']);
	expect((await call(facts, 'GET', `/v1/messages/${id}/attempts`)).body.data).toEqual([
		expect.objectContaining({ attemptNo: 1, outcome: 'ACCEPTED', code: '250' }),
	]);
});

test('what it writes about itself is complete and private', () => {
	const { facts } = running;
	expect(Object.keys(facts).sort()).toEqual(['api', 'apiKey', 'mail', 'metrics', 'openapi', 'pid', 'platformKey', 'tenantId']);
	expect(new URL(facts.api).pathname).toBe('/');
	expect(statSync(join(dir.path, 'standalone.json')).mode & 0o777).toBe(0o600);
	for (const text of [facts.api, facts.apiKey, facts.platformKey, facts.mail.web]) expect(running.output()).toContain(text);
});

test('it is ready, describes itself and shows its metrics', async () => {
	const { facts } = running;
	const admin = new URL(facts.metrics).origin;
	expect(await (await fetch(`${admin}/readyz`)).json()).toEqual({
		status: 'ok',
		checks: {
			postgres: 'ok',
			broker: 'ok',
			'rate-windows': 'ok',
			'mail-sender': 'ok',
			'dead-letter-topics': 'ok',
			'dead-letter-archive': 'ok',
		},
	});
	expect((await fetch(`${admin}/livez`)).status).toBe(200);
	expect(await (await fetch(facts.metrics)).text()).toContain('tidings_records_accepted_total');
	expect(await (await fetch(facts.openapi)).json()).toMatchObject({ openapi: expect.stringMatching(/^3\.1/) });
});

test('a second start on the same data folder says that one is running, and by which process', async () => {
	const second = await startStandalone(dir.path);
	expect(second).toMatchObject({ code: 1, output: expect.stringContaining(`already running (pid ${running.facts.pid})`) });
});

test.each(['--port', '--admin-port', '--smtp-port', '--mail-port'])('a taken port is named with its flag: %s', async (flag) => {
	const other = createServer();
	await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
	const address = other.address();
	const port = typeof address === 'object' ? String(address?.port) : '';
	const own = makeDataDir();
	const refused = await startStandalone(own.path, { args: [flag, port] });
	expect(refused).toMatchObject({ code: 1, output: expect.stringContaining(flag) });
	expect('output' in refused ? refused.output : '').toContain(port);
	own.drop();
	await new Promise((resolve) => other.close(resolve));
});

test.each([
	[['--port', '70000'], 64],
	[['--wat'], 64],
	[['--check-config'], 0],
	[['--help'], 0],
])('flags are checked before anything starts: %j', async (args, code) => {
	expect(await startStandalone(dir.path, { args })).toMatchObject({ code });
});

test('K35 a deadline that is not below the lease is refused at the start, with every other fault', async () => {
	const refused = await startStandalone(dir.path, {
		env: { TIDINGS_LEASE_SECONDS: '60', TIDINGS_SEND_DEADLINE_SECONDS: '60', TIDINGS_SMTP_SLOTS: 'many' },
	});
	expect(refused).toMatchObject({ code: 78 });
	const output = 'output' in refused ? refused.output : '';
	expect(output).toContain('TIDINGS_SMTP_SLOTS');
});

test('a rich mail arrives right: 8-bit subject, names with quotes and emoji, Chinese file names, an inline image, and no Bcc', async () => {
	const image = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
	const receipt = Buffer.from('收據：新臺幣 1,200 元\n');
	const accepted = await call(running.facts, 'POST', '/v1/mails', {
		to: [
			{ address: 'ann@example.com', name: 'Ann "The Boss" O\'Neil' },
			{ address: 'bo@example.com', name: '王小明 🎉' },
		],
		cc: ['carl@example.com'],
		bcc: ['dora@example.com'],
		replyTo: { address: 'help@example.com', name: 'Hilfe, bitte' },
		from: { address: 'shop@example.com', name: 'Café „Süd“, Köln' },
		subject: '您的訂單 A-17 已出貨 📦 – merci beaucoup, à bientôt; und noch etwas mehr, damit gefaltet werden muss',
		text: 'Grüße\n.\n..two dots\nlast line',
		html: '<p>Grüße <img src="cid:logo1"></p>',
		attachments: [
			{ filename: '收據 2026年11月.txt', contentType: 'text/plain', content: receipt.toString('base64') },
			{ filename: 'logo.png', contentType: 'image/png', content: image.toString('base64'), contentId: 'logo1' },
		],
		headers: { 'X-Campaign': 'autumn', 'List-Unsubscribe': '<https://example.com/u/1>' },
	});
	expect(accepted).toMatchObject({ status: 202 });
	const mail = await eventually(async () => (await caughtMails(running.facts)).find((one) => one.messageId.includes(accepted.body.id)));
	expect([...mail.to].sort()).toEqual(['ann@example.com', 'bo@example.com', 'carl@example.com', 'dora@example.com']);
	const raw = new Uint8Array(await (await fetch(`${running.facts.mail.api}/messages/${mail.id}.eml`)).arrayBuffer());
	const parsed = parseMail(raw);
	expect(parsed).toMatchObject({
		subject: '您的訂單 A-17 已出貨 📦 – merci beaucoup, à bientôt; und noch etwas mehr, damit gefaltet werden muss',
		messageId: `<${accepted.body.id}@example.com>`,
		from: [{ name: 'Café „Süd“, Köln', address: 'shop@example.com' }],
		to: [
			{ name: 'Ann "The Boss" O\'Neil', address: 'ann@example.com' },
			{ name: '王小明 🎉', address: 'bo@example.com' },
		],
		cc: [{ name: '', address: 'carl@example.com' }],
		replyTo: [{ name: 'Hilfe, bitte', address: 'help@example.com' }],
		defects: [],
	});
	expect(parsed.headers).toMatchObject({ 'X-Campaign': 'autumn', 'List-Unsubscribe': '<https://example.com/u/1>' });
	expect(parsed.names).not.toContain('bcc');
	expect(Buffer.from(raw).includes('dora@example.com')).toBe(false);
	const part = (type: string, filename: string | null) => parsed.parts.find((one) => one.type === type && one.filename === filename);
	expect(part('text/plain', null)?.text?.replaceAll('\r\n', '\n').trimEnd()).toBe('Grüße\n.\n..two dots\nlast line');
	expect(part('text/html', null)?.text).toContain('<p>Grüße <img src="cid:logo1"></p>');
	expect(part('text/plain', '收據 2026年11月.txt')).toMatchObject({ disposition: 'attachment', base64: receipt.toString('base64') });
	expect(part('image/png', 'logo.png')).toMatchObject({ contentId: '<logo1>', base64: image.toString('base64') });
	expect(parsed.types).toContain('multipart/related');
});

test('five hundred by batch come out five hundred times; killed in the middle and started again, the rest goes out, and none twice unless it is marked ambiguous', async () => {
	const items = Array.from({ length: 500 }, (_, n) => ({ to: [`r${n}@example.com`], subject: `Mail ${n}`, text: `Number ${n}` }));
	const before = await caughtMails(running.facts);
	const first = await call(running.facts, 'POST', '/v1/mails:batch', { items });
	expect(first.status).toBe(202);
	expect(first.body.ids).toHaveLength(500);
	expect([...first.body.ids].sort()).toEqual(first.body.ids);
	await eventually(async () => (await caughtMails(running.facts)).length > before.length + 50, { what: 'the first mails', within: 20_000 });
	expect(await running.stop('SIGKILL')).toBeNull();

	running = await startedStandalone(dir.path);
	const { ids } = first.body;
	await eventually(async () => [...(await statuses(running.facts, ids)).values()].filter((one) => one.status === 'SENT').length === 500, {
		what: 'five hundred SENT records',
		within: 60_000,
	});
	const records = await statuses(running.facts, ids);
	const mails = await caughtMails(running.facts);
	const doubled = ids.filter((id) => mailsOf(mails, id) > 1);
	expect(ids.filter((id) => mailsOf(mails, id) === 0)).toEqual([]);
	expect(doubled.filter((id) => records.get(id)?.ambiguous !== true)).toEqual([]);
	expect(mails.find((mail) => mail.messageId.includes(ids[7] ?? 'none'))?.subject).toBe('Mail 7');
}, 120_000);

test('a key and its replays outlive a restart', async () => {
	const body = JSON.stringify({ to: ['ann@example.com'], subject: 'Once', text: 'Once.' });
	const headers = { 'idempotency-key': 'outlives-restart' };
	const first = await call(running.facts, 'POST', '/v1/mails', body, headers);
	const { apiKey } = running.facts;
	expect(await running.stop('SIGTERM')).toBe(0);
	running = await startedStandalone(dir.path);
	expect(running.facts.apiKey).toBe(apiKey);
	const again = await call(running.facts, 'POST', '/v1/mails', body, headers);
	expect(again).toMatchObject({ status: 202, body: first.body });
	expect(again.headers.get('idempotent-replayed')).toBe('true');
	expect(
		await call(running.facts, 'POST', '/v1/mails', JSON.stringify({ to: ['bo@example.com'], subject: 'Once', text: 'Once.' }), headers),
	).toMatchObject({
		status: 422,
		body: { code: 'idempotency-mismatch' },
	});
}, 60_000);
