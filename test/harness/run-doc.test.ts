import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readDoc } from './read-doc.js';
import { runDoc } from './run-doc.js';

let server: Server;
let api: string;
const folders: string[] = [];

beforeAll(async () => {
	server = createServer((request, response) => {
		response.writeHead(request.url === '/no' ? 404 : 200, { 'Content-Type': 'application/json', ETag: '"7"' });
		response.end('{"id":"a1","tags":["x","y"],"size":{"width":3,"height":4},"note":null}');
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
	for (const folder of folders) rmSync(folder, { recursive: true });
	await new Promise((resolve) => server.close(resolve));
});

const fence = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\`\n`;
const GET = fence('sh', 'curl -s "$API/yes"');

async function faultsOf(page: string): Promise<string[]> {
	const cwd = mkdtempSync(join(tmpdir(), 'tidings-doc-'));
	folders.push(cwd);
	return await runDoc({ cwd, blocks: readDoc(page), env: { API: api } });
}

test.each([
	['an answer in full', '{"id": "a1", "tags": ["x", "y"], "size": {"width": 3, "height": 4}, "note": null}'],
	['an answer that is shortened', '{"id": "…1", "tags": ["x", …], "size": …, …}'],
])('a page is right that shows %s', async (_, body) => {
	expect(await faultsOf(GET + fence('http', `HTTP/1.1 200 OK\nETag: "…"\n\n${body}`))).toEqual([]);
});

test.each([
	['another status', 'HTTP/1.1 202 Accepted', 'the answer is 200 OK, not 202 Accepted'],
	['another header', 'HTTP/1.1 200 OK\nETag: "8"', 'etag is "7", not "8"'],
	['another value', 'HTTP/1.1 200 OK\n\n{"id": "a2", …}', 'the answer.id is "a1" and not "a2"'],
	['a field that is not there', 'HTTP/1.1 200 OK\n\n{"size": {"depth": 1, …}, …}', 'the answer.size has no depth'],
	['less than is there, and does not say so', 'HTTP/1.1 200 OK\n\n{"id": "a1", "tags": …, "note": null}', 'the answer also has size'],
	['a list that is longer', 'HTTP/1.1 200 OK\n\n{"tags": ["x"], …}', 'the answer.tags has 2 entries'],
])('a page is wrong that shows %s', async (_, shown, fault) => {
	expect(await faultsOf(GET + fence('http', shown))).toEqual([expect.stringContaining(fault)]);
});

test('a refusal that the page does not show is a fault, and so is one before the last request', async () => {
	expect(await faultsOf(fence('sh', 'curl -s "$API/no"'))).toEqual([
		expect.stringContaining('line 1: a request was answered 404 Not Found'),
	]);
	const twice = fence('sh', 'ID=$(curl -s "$API/no")\ncurl -si "$API/yes"') + fence('http', 'HTTP/1.1 200 OK\n\n{"id": "a1", …}');
	expect(await faultsOf(twice)).toEqual([expect.stringContaining('a request was answered 404 Not Found')]);
});

test('later commands know what earlier ones have set, and print what the page says', async () => {
	const page = fence('sh', 'COUNT=$(curl -s "$API/yes" | grep -o x)') + fence('sh', 'echo "$COUNT"') + fence('text', 'x');
	expect(await faultsOf(page)).toEqual([]);
	expect(await faultsOf(page.replace('```text\nx', '```text\ny'))).toEqual(['line 4: it printed "x\\n"']);
});

test('a command that fails is named with its line, and nothing runs after it', async () => {
	expect(await faultsOf(`Text.\n${fence('sh', 'cat nowhere | wc -l')}${fence('sh', 'touch later')}`)).toEqual([
		expect.stringContaining('line 2: the command failed (1): cat: nowhere'),
	]);
});

test.each([
	['an answer without a command', fence('http', 'HTTP/1.1 200 OK')],
	['two answers of one command', GET + fence('http', 'HTTP/1.1 200 OK') + fence('text', 'x')],
	['an answer without a status', GET + fence('http', '{"id": "a1"}')],
	['a block without an end', '```sh\ncurl'],
])('%s is refused', (_, page) => {
	expect(() => readDoc(page)).toThrow(/^line \d+: /);
});
