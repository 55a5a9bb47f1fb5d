import { execFile } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { call, caughtMails, makeDataDir, type Standalone, startedStandalone } from '../harness/standalone.js';

const ROOT = join(import.meta.dirname, '../..');
const PROGRAMS = {
	'first-mail.ts': [process.execPath, '--import', 'tsx'],
	'first_mail.py': ['python3'],
	'first-mail.sh': ['sh'],
};

type End = { readonly code: unknown; readonly out: string; readonly err: string };

let dir: { path: string; drop(): void };
let running: Standalone;
let front: Server;
let frontUrl: string;
/** How often a submitting request came with each Idempotency-Key. */
const tries = new Map<string, number>();

beforeAll(async () => {
	dir = makeDataDir();
	running = await startedStandalone(dir.path);
	front = createServer((request, response) => void standBetween(request, response));
	await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
	frontUrl = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
}, 60_000);
afterAll(async () => {
	front.closeAllConnections();
	await new Promise((resolve) => front.close(resolve));
	await running.stop();
	dir.drop();
});

/** Passes requests on, but breaks the connection after the first one with a key was accepted, and has no time for the second one. */
async function standBetween(request: IncomingMessage, response: ServerResponse): Promise<void> {
	const body = await text(request);
	const key = String(request.headers['idempotency-key'] ?? '');
	const tried = (tries.get(key) ?? 0) + 1;
	tries.set(key, tried);
	if (key !== '' && tried === 2) {
		response.writeHead(503, { 'Content-Type': 'text/html', 'Retry-After': '1' }).end('<h1>Too busy</h1>');
		return;
	}
	const answer = await fetch(`${running.facts.api}${request.url}`, {
		method: request.method ?? 'GET',
		headers: {
			authorization: String(request.headers.authorization),
			'content-type': 'application/json',
			...(key === '' ? {} : { 'idempotency-key': key }),
		},
		...(body === '' ? {} : { body }),
	});
	const answered = await answer.text();
	if (key !== '' && tried === 1) request.socket.destroy();
	else response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(answered);
}

/** What a program is called with. */
type Words = { readonly recipient: string; readonly api: string; readonly key?: string };

/** Runs the three programs at once, and answers how each ended. */
async function runAll(wordsOf: (program: string) => Words | Promise<Words>): Promise<Record<string, End>> {
	const ends = Object.entries(PROGRAMS).map(async ([program, command]) => [
		program,
		await runOne(program, command, await wordsOf(program)),
	]);
	return Object.fromEntries(await Promise.all(ends));
}

async function runOne(program: string, [command = '', ...args]: readonly string[], { recipient, api, key }: Words): Promise<End> {
	const env = { PATH: process.env['PATH'], TIDINGS_API: api, ...(key === undefined ? {} : { TIDINGS_API_KEY: key }) };
	return await new Promise((resolve) => {
		execFile(command, [...args, join('examples/first-mail', program), recipient], { cwd: ROOT, env }, (error, out, err) =>
			resolve({ code: error === null ? 0 : error.code, out, err }),
		);
	});
}

/** Makes a tenant whose mail server refuses its password; answers a key. */
async function makeLockedOut(name: string): Promise<string> {
	const { facts } = running;
	const admin = { authorization: `Bearer ${facts.platformKey}` };
	const tenant = await call(facts, 'POST', '/v1/tenants', { name }, admin);
	const acting = { ...admin, 'tidings-tenant': tenant.body.id };
	const place = { host: '127.0.0.1', port: Number(new URL(facts.mail.smtp).port), security: 'none' };
	const server = { name: 'Relay', ...place, username: 'shop', password: 'wrong', from: { address: 'shop@example.com' } };
	await call(facts, 'POST', '/v1/mail-servers', server, acting);
	const made = await call(facts, 'POST', '/v1/api-keys', { name: 'shop', capabilities: ['messages:send', 'messages:read'] }, acting);
	return (made.body as unknown as { key: string }).key;
}

const each = (end: object) => Object.fromEntries(Object.keys(PROGRAMS).map((program) => [program, expect.objectContaining(end)]));

test('each program sends its mail once, though the connection breaks and the server is busy', async () => {
	const recipientOf = (program: string) => `${program.replace(/\W/g, '-')}@example.com`;
	const ends = await runAll((program) => ({ recipient: recipientOf(program), api: frontUrl, key: running.facts.apiKey }));
	expect(ends).toEqual(each({ code: 0, out: 'sent\n' }));
	const caught = (await caughtMails(running.facts)).map(({ to }) => to[0]);
	expect(caught.sort()).toEqual(Object.keys(PROGRAMS).map(recipientOf).sort());
	expect([...tries].filter(([key]) => key !== '').map(([, times]) => times)).toEqual([3, 3, 3]);
});

test('each program prints every fault of a refused request', async () => {
	const { api, apiKey } = running.facts;
	const ends = await runAll(() => ({ recipient: 'no "address" {at} all', api, key: apiKey }));
	expect(ends).toEqual(
		each({ code: 2, out: '', err: expect.stringMatching(/^refused: invalid-request: .+\n {2}\/to\/0 bad-address: .+\n$/) }),
	);
});

test('each program says in the words of the mail server why a mail was not sent', async () => {
	const { api } = running.facts;
	const ends = await runAll(async (program) => ({ recipient: 'ann@example.com', api, key: await makeLockedOut(program) }));
	expect(ends).toEqual(each({ code: 1, out: 'not sent: DEAD_LETTER: 535 5.7.8 The password is wrong\n' }));
});

test('each program tells how it is called', async () => {
	const ends = await runAll(() => ({ recipient: 'ann@example.com', api: running.facts.api }));
	expect(ends).toEqual(each({ code: 2, out: '', err: expect.stringMatching(/^usage: /) }));
});
