import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi, type TestApi } from '../../../test/harness/api.js';

let api: TestApi;
beforeAll(async () => {
	api = await startApi();
	const server = { name: 'main', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' } };
	await api.call('/v1/mail-servers', { body: server });
});
afterAll(async () => await api.stop());

async function send(change: object): Promise<string> {
	return (await api.call('/v1/mails', { body: { to: ['ann@example.com'], subject: 'Hello', text: 'Hi', ...change } })).body.id;
}

async function find(query: Record<string, string>): Promise<string[]> {
	const { body } = await api.call(`/v1/messages?${new URLSearchParams(query)}`);
	return body.data.map((one: { id: string }) => one.id);
}

test.each([
	[
		'Ann.Lee@shop.example',
		['Ann.Lee@shop.example', 'Ann.Lee@SHOP.Example', ' Ann.Lee@shop.example '],
		['ann.lee@shop.example', 'Lee@shop.example'],
	],
	[
		'ann@bücher.example',
		['ann@bücher.example', 'ann@BÜCHER.example', 'ann@xn--bcher-kva.example', 'ann@XN--BCHER-KVA.EXAMPLE'],
		['ann@bucher.example'],
	],
	['王@例子.example', ['王@例子.example', '王@xn--fsqu00a.example'], ['wang@xn--fsqu00a.example']],
	["o'neil+x_%@odd.example", ["o'neil+x_%@odd.example"], ["o'neil+x_x@odd.example"]],
])('a message to %s is found by that mailbox in any spelling, and by no other', async (to, same, others) => {
	const id = await send({ to: ['first@example.com'], bcc: [to] });
	for (const recipient of same) expect([recipient, await find({ recipient })]).toEqual([recipient, [id]]);
	for (const recipient of others) expect([recipient, await find({ recipient })]).toEqual([recipient, []]);
});

test.each([
	'orderNo',
	'order.no',
	'a b',
	'a%25',
	'a&b=c',
	'ключ',
	'"quoted"',
	"o'clock",
	'[]',
	'a[b]',
	'{name}',
	'$',
	'\\',
	'__proto__',
	'constructor',
	'metadata.x',
	'订单',
])('a mark called %s is found by its value, whole and in its case', async (name) => {
	const id = await send({ metadata: Object.fromEntries([[name, 'A-17 "ü" %']]) });
	expect(await find({ [`metadata.${name}`]: 'A-17 "ü" %' })).toEqual([id]);
	for (const value of ['A-17', 'a-17 "ü" %', '%', '']) expect([value, await find({ [`metadata.${name}`]: value })]).toEqual([value, []]);
});
