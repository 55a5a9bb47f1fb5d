import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import { createLogger } from '@tidings/telemetry';
import { createTransport } from 'nodemailer';
import { eventually } from '../../../../test/harness/eventually.js';
import type { MailSummary } from './mail-summary.js';
import type { MailDetail } from './parse-mail.js';
import { type Catcher, startCatcher } from './start-catcher.js';

const log = createLogger({ service: 'test', level: 'silent' });
const PIXEL = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==', 'base64');
let dataDir = '';
let catcher: Catcher;
let children: ChildProcess[] = [];

beforeEach(async () => {
	dataDir = mkdtempSync(join(tmpdir(), 'tidings-catcher-'));
	catcher = await start();
});

afterEach(async () => {
	for (const child of children) child.kill('SIGKILL');
	children = [];
	await catcher.close();
	rmSync(dataDir, { recursive: true, force: true });
});

function start(): Promise<Catcher> {
	return startCatcher({ dataDir, smtpPort: 0, webPort: 0, log });
}

function get(path: string): Promise<Response> {
	return fetch(`http://127.0.0.1:${catcher.webPort}${path}`);
}

async function list(query = ''): Promise<{ data: MailSummary[]; nextCursor: string | null }> {
	return (await get(`/messages${query}`)).json() as Promise<{ data: MailSummary[]; nextCursor: string | null }>;
}

/** Speaks SMTP up to the middle of a mail, and returns the open connection. */
async function openHalfMail(port: number): Promise<Socket> {
	const socket = connect(port, '127.0.0.1');
	socket.on('error', () => {});
	const lines = createInterface(socket)[Symbol.asyncIterator]();
	const answer = async () => {
		for (;;) {
			const { value, done } = await lines.next();
			if (done || /^\d{3} /.test(value)) return;
		}
	};
	await answer();
	for (const line of ['EHLO client.example.com', 'MAIL FROM:<a@example.com>', 'RCPT TO:<b@example.com>', 'DATA']) {
		socket.write(`${line}\r\n`);
		await answer();
	}
	await new Promise((resolve) => socket.write(`Subject: half\r\n\r\n${'half a mail\r\n'.repeat(50_000)}`, resolve));
	return socket;
}

test('a sign-in with the password `wrong` is refused, so that people can see what follows from it', async () => {
	const transport = createTransport({ host: '127.0.0.1', port: catcher.smtpPort, auth: { user: 'any', pass: 'wrong' } });
	await expect(transport.verify()).rejects.toMatchObject({ responseCode: 535, response: '535 5.7.8 The password is wrong' });
});

test('a multipart mail comes out as it went in: names of all scripts, an inline picture, attachments byte by byte', async () => {
	const transport = createTransport({ host: '127.0.0.1', port: catcher.smtpPort, auth: { user: 'any', pass: 'thing' } });
	const invoice = Buffer.from(Array.from({ length: 70_000 }, (_, i) => i % 251));
	await transport.sendMail({
		from: { name: '王小明, "M" 📨', address: 'wang@example.com' },
		to: ['ann@example.com', { name: "O'Brien", address: 'ob@example.com' }],
		cc: 'cc@example.com',
		bcc: 'blind@example.com',
		replyTo: 'reply@example.com',
		subject: '訂單確認 <b>Größe</b>',
		text: 'Grüße\n.dot first',
		html: '<p>Grüße</p><img src="cid:logo@example.com">',
		headers: { 'X-Two': ['one', 'two'] },
		attachments: [
			{ filename: 'logo.png', content: PIXEL, cid: 'logo@example.com' },
			{ filename: '發票 "二".pdf', content: invoice },
		],
	});
	const { data } = await list();
	const [summary] = data;
	expect(summary).toMatchObject({
		subject: '訂單確認 <b>Größe</b>',
		to: ['ann@example.com', 'ob@example.com', 'cc@example.com', 'blind@example.com'],
	});
	expect(summary?.from).toContain('wang@example.com');

	const mail = (await (await get(`/messages/${summary?.id}`)).json()) as MailDetail;
	expect(mail).toMatchObject({
		subject: '訂單確認 <b>Größe</b>',
		messageId: summary?.messageId,
		from: { name: '王小明, "M" 📨', address: 'wang@example.com' },
		to: [
			{ name: '', address: 'ann@example.com' },
			{ name: "O'Brien", address: 'ob@example.com' },
		],
		cc: [{ name: '', address: 'cc@example.com' }],
		replyTo: [{ name: '', address: 'reply@example.com' }],
		text: 'Grüße\n.dot first',
		attachments: [
			{ index: 0, filename: 'logo.png', contentType: 'image/png', size: PIXEL.length, contentId: 'logo@example.com', inline: true },
			{ index: 1, filename: '發票 "二".pdf', contentType: 'application/pdf', size: invoice.length, contentId: null, inline: false },
		],
	});
	expect(mail.headers).toMatchObject({ subject: '訂單確認 <b>Größe</b>', 'x-two': ['one', 'two'] });
	expect(mail.html).toContain(`src="data:image/png;base64,${PIXEL.toString('base64')}"`);

	const part = await get(`/messages/${summary?.id}/attachments/1`);
	expect(Buffer.from(await part.arrayBuffer())).toEqual(invoice);
	expect(part.headers.get('content-disposition')).toContain(`filename*=UTF-8''%E7%99%BC%E7%A5%A8%20%22%E4%BA%8C%22.pdf`);
	expect(part.headers.get('x-content-type-options')).toBe('nosniff');
	const raw = await (await get(`/messages/${summary?.id}.eml`)).text();
	expect(raw).toBe(readFileSync(join(dataDir, 'mails', `${summary?.id}.eml`), 'utf8'));
	expect(Buffer.byteLength(raw)).toBe(summary?.size);
});

test('200 mails sent at once are all listed, page by page, and found by search, also after a restart', async () => {
	const transport = createTransport({ host: '127.0.0.1', port: catcher.smtpPort, pool: true, maxConnections: 20 });
	const numbers = Array.from({ length: 200 }, (_, i) => i);
	await Promise.all(
		numbers.map((i) => transport.sendMail({ from: 'a@example.com', to: `to-${i}@example.com`, subject: `Number ${i}.`, text: 'x' })),
	);
	transport.close();
	await catcher.close();
	catcher = await start();

	const seen: string[] = [];
	let cursor: string | null = null;
	do {
		const page = await list(`?limit=70${cursor === null ? '' : `&cursor=${cursor}`}`);
		seen.push(...page.data.map((mail) => mail.id));
		cursor = page.nextCursor;
	} while (cursor !== null);
	expect(new Set(seen).size).toBe(200);
	expect(seen).toEqual(seen.toSorted().toReversed());
	expect((await list('?q=NUMBER%20137.')).data.map((mail) => mail.to)).toEqual([['to-137@example.com']]);
	expect((await list('?q=to-42@')).data.map((mail) => mail.subject)).toEqual(['Number 42.']);
});

test('a kill -9 in the middle of a mail leaves nothing half, and what was answered is there', async () => {
	const child = await startChild();
	const transport = createTransport({ host: '127.0.0.1', port: child.smtpPort });
	await transport.sendMail({ from: 'a@example.com', to: 'b@example.com', subject: 'whole', text: 'x' });
	const half = await openHalfMail(child.smtpPort);
	await eventually(() => readdirSync(join(child.dataDir, 'mails', 'incoming')).length === 1);
	await child.kill();
	half.destroy();
	// The moment between taking its place and its line in the index, and a line of a mail that is not there.
	const adopted = newId();
	writeFileSync(join(child.dataDir, 'mails', `${adopted}.eml`), 'Subject: adopted\r\nTo: c@example.com\r\n\r\nx\r\n');
	writeFileSync(join(child.dataDir, 'mails', 'index.jsonl'), `{"id":"${newId()}","from":"x`, { flag: 'a' });

	await catcher.close();
	catcher = await startCatcher({ dataDir: child.dataDir, smtpPort: 0, webPort: 0, log });
	expect((await list()).data.map((mail) => [mail.subject, ...mail.to])).toEqual([
		['adopted', 'c@example.com'],
		['whole', 'b@example.com'],
	]);
	expect(readdirSync(join(child.dataDir, 'mails', 'incoming'))).toEqual([]);
	rmSync(child.dataDir, { recursive: true, force: true });
});

async function startChild(): Promise<{ smtpPort: number; dataDir: string; kill(): Promise<void> }> {
	const folder = mkdtempSync(join(tmpdir(), 'tidings-catcher-'));
	const script = `
		import { createLogger } from '@tidings/telemetry';
		import { startCatcher } from ${JSON.stringify(fileURLToPath(new URL('./start-catcher.ts', import.meta.url)))};
		const log = createLogger({ service: 'test', level: 'silent' });
		console.log((await startCatcher({ dataDir: ${JSON.stringify(folder)}, smtpPort: 0, webPort: 0, log })).smtpPort);`;
	const args = [
		'--conditions=tidings-source',
		'--import',
		createRequire(import.meta.url).resolve('tsx'),
		'--input-type=module',
		'-e',
		script,
	];
	const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
	children.push(child);
	const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
	return {
		smtpPort: Number(port),
		dataDir: folder,
		async kill() {
			const ended = once(child, 'exit');
			child.kill('SIGKILL');
			await ended;
		},
	};
}

test('a connection that is reset in the middle of a mail leaves no file, and the next mail is taken', async () => {
	const half = await openHalfMail(catcher.smtpPort);
	const incoming = join(dataDir, 'mails', 'incoming');
	await eventually(() => readdirSync(incoming).length === 1);
	half.resetAndDestroy();
	await eventually(() => readdirSync(incoming).length === 0);
	const transport = createTransport({ host: '127.0.0.1', port: catcher.smtpPort });
	await transport.sendMail({ from: 'a@example.com', to: 'b@example.com', subject: 'next', text: 'x' });
	expect((await list()).data.map((mail) => mail.subject)).toEqual(['next']);
});

test('unknown and malformed addresses of the API are refused plainly, with the security headers on', async () => {
	for (const path of [
		'/messages/no-id',
		`/messages/${newId()}`,
		`/messages/${newId()}.eml`,
		'/messages/..%2f..%2fetc%2fpasswd.eml',
		`/messages/${newId()}/attachments/0`,
		'/x',
	]) {
		const answer = await get(path);
		expect([path, answer.status]).toEqual([path, 404]);
		expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
		expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
	}
	for (const query of ['?limit=0', '?limit=x', '?cursor=x']) expect((await get(`/messages${query}`)).status).toBe(400);
});

test('a taken port is named with its flag', async () => {
	const other = (ports: { smtpPort: number; webPort: number }) => startCatcher({ dataDir: join(dataDir, 'other'), ...ports, log });
	await expect(other({ smtpPort: catcher.smtpPort, webPort: 0 })).rejects.toThrow(
		`Port ${catcher.smtpPort}, meant for mails (SMTP), is taken. Choose another with --smtp-port.`,
	);
	await expect(other({ smtpPort: 0, webPort: catcher.webPort })).rejects.toThrow(
		`Port ${catcher.webPort}, meant for the page of caught mails, is taken. Choose another with --mail-port.`,
	);
});
