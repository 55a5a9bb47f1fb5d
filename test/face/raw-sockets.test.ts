import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi, type TestApi } from '../harness/api.js';
import { makeServer } from '../harness/recipes.js';
import { changesOf, createReadRows, type RowMarks } from '../harness/row-marks.js';

let api: TestApi;
let readRows: () => Promise<RowMarks>;
beforeAll(async () => {
	api = await startApi();
	await makeServer(api, api);
	readRows = await createReadRows(api.db);
});
afterAll(async () => await api.stop());

const MAIL = JSON.stringify({ to: ['ann@example.com'], subject: 'Hello', text: 'Hi' });
const LINE = 'POST /v1/mails HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';
const key = (): string => `Authorization: Bearer ${api.apiKey}\r\n`;
const chunk = (data: string): string => `${data.length.toString(16)}\r\n${data}\r\n`;

/** Sends bytes as they are, and reads until the other side hangs up. `breaksOff`: we do, before they are complete. */
async function exchange(bytes: string, breaksOff = false): Promise<string> {
	const { hostname, port } = new URL(api.origin);
	const socket = connect(Number(port), hostname);
	await once(socket, 'connect');
	socket.write(Buffer.from(bytes, 'latin1'));
	if (breaksOff) socket.end();
	return await text(socket).catch(() => 'broken off');
}

/** What no client library sends, and the codes that it may be answered with; none: the connection ends without an answer. */
const CASES: Readonly<Record<string, { send(): string; codes: readonly string[]; breaksOff?: true }>> = {
	'a line feed in a header': {
		send: () => `${LINE}${key()}X-A: a\n b\r\nContent-Length: ${MAIL.length}\r\n\r\n${MAIL}`,
		codes: ['malformed-request'],
	},
	'a NUL in a header': {
		send: () => `${LINE}${key()}X-A: a\0b\r\nContent-Length: ${MAIL.length}\r\n\r\n${MAIL}`,
		codes: ['malformed-request'],
	},
	'a space before the colon': { send: () => `${LINE}${key()}Content-Length : ${MAIL.length}\r\n\r\n${MAIL}`, codes: ['malformed-request'] },
	'two lengths': {
		send: () => `${LINE}${key()}Content-Length: ${MAIL.length}\r\nContent-Length: 1\r\n\r\n${MAIL}`,
		codes: ['malformed-request'],
	},
	'a length and chunks': {
		send: () => `${LINE}${key()}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${chunk(MAIL)}0\r\n\r\n`,
		codes: ['malformed-request'],
	},
	'a negative length': { send: () => `${LINE}${key()}Content-Length: -1\r\n\r\n${MAIL}`, codes: ['malformed-request'] },
	'a length that is no number': { send: () => `${LINE}${key()}Content-Length: 1e3\r\n\r\n${MAIL}`, codes: ['malformed-request'] },
	'a chunk whose size is no number': {
		send: () => `${LINE}${key()}Transfer-Encoding: chunked\r\n\r\nzz\r\n${MAIL}\r\n0\r\n\r\n`,
		codes: ['malformed-request'],
	},
	'chunks without an end': {
		send: () => `${LINE}${key()}Transfer-Encoding: chunked\r\n\r\n${chunk(MAIL)}`,
		breaksOff: true,
		codes: ['malformed-request'],
	},
	'a body that breaks off': {
		send: () => `${LINE}${key()}Content-Length: 1000\r\n\r\n${MAIL}`,
		breaksOff: true,
		codes: ['malformed-request'],
	},
	'another transfer coding': { send: () => `${LINE}${key()}Transfer-Encoding: gzip\r\n\r\n${MAIL}`, codes: ['malformed-request'] },
	'no host': {
		send: () => `POST /v1/mails HTTP/1.1\r\n${key()}Connection: close\r\nContent-Length: ${MAIL.length}\r\n\r\n${MAIL}`,
		codes: ['malformed-request'],
	},
	'headers of 100 KB': { send: () => `${LINE}${key()}X-A: ${'a'.repeat(100_000)}\r\n\r\n`, codes: ['malformed-request'] },
	'five thousand headers': { send: () => `${LINE}${key()}${'X-A: a\r\n'.repeat(5_000)}\r\n`, codes: ['malformed-request'] },
	'another protocol': { send: () => 'SSH-2.0-x\r\n\r\n', codes: ['malformed-request'] },
	'the first line of HTTP/2': { send: () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', codes: ['malformed-request', 'method-not-allowed'] },
	TLS: { send: () => '\x16\x03\x01\x02\x00\x01\x00', codes: ['malformed-request'] },
	'a version that does not exist': { send: () => `GET /v1/messages HTTP/9.9\r\nHost: a\r\n\r\n`, codes: ['malformed-request'] },
	'no path': { send: () => `GET  HTTP/1.1\r\nHost: a\r\n\r\n`, codes: ['malformed-request'] },
	'a path of raw bytes': {
		send: () => `GET /v1/messages/\xff\xfe HTTP/1.1\r\nHost: a\r\n${key()}Connection: close\r\n\r\n`,
		codes: ['malformed-request', 'not-found'],
	},
	'a star as its path': {
		send: () => `OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
		codes: ['not-found', 'method-not-allowed'],
	},
	'a tunnel': { send: () => `CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: a\r\n\r\n`, codes: [] },
};

test.each(Object.keys(CASES))('%s is refused with a problem, writes nothing, and harms nobody', async (name) => {
	const one = CASES[name];
	const before = await readRows();
	const reply = await exchange(one?.send() ?? '', one?.breaksOff);
	const [head = '', body = ''] = reply.split('\r\n\r\n');
	if (one?.codes.length === 0) expect(reply).toBe('');
	else {
		expect(head).toMatch(/^HTTP\/1\.1 4\d\d /);
		expect(head.toLowerCase()).toContain('content-type: application/problem+json');
		expect(one?.codes).toContain(JSON.parse(body).code);
	}
	expect(changesOf(before, await readRows())).toEqual([]);
	expect((await api.call('/v1/messages')).status).toBe(200);
});

test('what follows a refused request on its connection is not taken for a request', async () => {
	const before = await readRows();
	const smuggled = `${LINE}${key()}Content-Length: ${MAIL.length}\r\n\r\n${MAIL}`;
	const reply = await exchange(`${LINE}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`);
	expect(reply.match(/HTTP\/1\.1 /g)).toHaveLength(1);
	expect(changesOf(before, await readRows())).toEqual([]);
});

test('what comes after a good request is no part of it', async () => {
	const get = `GET /v1/messages HTTP/1.1\r\nHost: a\r\n${key()}\r\n`;
	const reply = await exchange(`${get}\0\0garbage\r\n\r\n`);
	expect(reply.match(/^HTTP\/1\.1 \d+/gm)?.at(-1)).toMatch(/ 4\d\d$/);
	expect((await api.call('/v1/messages')).status).toBe(200);
});

test('HEAD with headers that are too large is answered without a body', async () => {
	const reply = await exchange(`HEAD /v1/messages HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`);
	expect(reply).toMatch(/^HTTP\/1\.1 400 /);
	expect(reply.endsWith('\r\n\r\n')).toBe(true);
});

test('a whole address as its path means the path (RFC 9112)', async () => {
	const reply = await exchange(`GET http://elsewhere.example/v1/messages HTTP/1.1\r\nHost: a\r\n${key()}Connection: close\r\n\r\n`);
	expect(reply).toMatch(/^HTTP\/1\.1 200 /);
});
