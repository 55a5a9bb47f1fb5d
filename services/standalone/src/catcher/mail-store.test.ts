import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { MailStore } from './mail-store.js';

let folder = '';
let store: MailStore;

beforeEach(async () => {
	folder = mkdtempSync(join(tmpdir(), 'tidings-mails-'));
	store = await MailStore.open({ folder, keep: 5, sizeLimit: 1_000 });
});

afterEach(async () => {
	await store.close();
	rmSync(folder, { recursive: true, force: true });
});

function keep(subject: string, body = 'x') {
	return store.keep(Readable.from([Buffer.from(`Subject: ${subject}\r\n\r\n${body}`)]), { from: 'a@example.com', to: ['b@example.com'] });
}

test('only the newest are kept, in the list, on the disk and in the index', async () => {
	await Promise.all(Array.from({ length: 20 }, (_, i) => keep(`mail ${i}`)));
	await keep('the last');
	const { data } = store.list({ limit: 100 });
	expect(data).toHaveLength(5);
	expect(data[0]?.subject).toBe('the last');
	const files = readdirSync(folder).filter((name) => name.endsWith('.eml'));
	expect(files.toSorted()).toEqual(data.map((mail) => `${mail.id}.eml`).toSorted());
	expect(readFileSync(join(folder, 'index.jsonl'), 'utf8').trim().split('\n').length).toBeLessThanOrEqual(10);

	await store.close();
	store = await MailStore.open({ folder, keep: 3, sizeLimit: 1_000 });
	expect(store.list({ limit: 100 }).data).toEqual(data.slice(0, 3));
});

test('a mail over the limit and one that breaks off are not kept, and leave no file', async () => {
	expect(await keep('large', 'x'.repeat(1_000))).toBe('too-large');
	const broken = Readable.from(
		(async function* () {
			yield Buffer.from('Subject: broken\r\n');
			throw new Error('reset');
		})(),
	);
	await expect(store.keep(broken, { from: '', to: [] })).rejects.toThrow('reset');
	expect(store.list({ limit: 100 }).data).toEqual([]);
	expect(readdirSync(join(folder, 'incoming'))).toEqual([]);
});

test('a disk that refuses a mail fails that mail, and the next is kept', async () => {
	const incoming = join(folder, 'incoming');
	rmSync(incoming, { recursive: true });
	await expect(keep('refused')).rejects.toThrow('ENOENT');
	await store.close();
	store = await MailStore.open({ folder, keep: 5, sizeLimit: 1_000 });
	expect(await keep('kept')).toMatchObject({ subject: 'kept', from: 'a@example.com' });
	expect(store.list({ limit: 100 }).data.map((mail) => mail.subject)).toEqual(['kept']);
});
