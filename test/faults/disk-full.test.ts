import { statSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi, type TestApi } from '../harness/api.js';
import { createDatabase } from '../harness/database.js';
import { eventually } from '../harness/eventually.js';
import { type Mesh, makeMesh } from '../harness/mesh.js';
import { startPostgres, type TestPostgres } from '../harness/postgres.js';
import { mountSmallDisk } from '../harness/small-disk.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';

// The tables of a database on a disk that is full. Who may not mount has `libs/db/src/tx.test.ts` alone, by the codes that a database says it with.

const disk = mountSmallDisk(16);
if (disk === null)
	process.stderr.write('not run: a disk that is full, for only root (with CAP_SYS_ADMIN) on Linux may mount a small one\n');

let postgres: TestPostgres;
let mesh: Mesh;
let api: TestApi;
let sink: SmtpSink;

beforeAll(async () => {
	if (disk === null) return;
	postgres = await startPostgres();
	const database = await createDatabase(postgres.url);
	mesh = await makeMesh(database.url);
	const { rows } = await mesh.db.pool.query<{ folder: string }>(`select current_setting('data_directory') as folder`);
	disk.give(statSync(rows[0]?.folder ?? '').uid);
	await mesh.db.pool.query(`create tablespace small location '${disk.folder}'`);
	for (const kind of ['table', 'index']) await mesh.db.pool.query(`alter ${kind} all in tablespace pg_default set tablespace small`);
	api = await startApi({ databaseUrl: database.url });
	sink = await startSmtpSink();
	const server = { name: 'sink', host: sink.host, port: sink.port, security: 'none', from: { address: 'shop@example.com' }, default: true };
	expect((await api.call('/v1/mail-servers', { body: server })).status).toBe(201);
}, 60_000);
afterAll(async () => {
	if (disk === null) return;
	try {
		await api.stop();
		await mesh.close();
		await sink.close();
		await postgres.stop();
	} finally {
		disk.remove();
	}
});

/** Sends one mail to the API: its id, or the answer that refuses it. */
async function submit() {
	const { status, headers, body } = await api.call('/v1/mails', { body: { to: ['ann@example.com'], subject: 'Hello', text: 'Hi' } });
	return status === 202 ? { id: String(body.id) } : { status, retryAfter: Number(headers.get('retry-after')), code: body.code };
}

/** Submits until the disk has no room for one more; the ids of those that it still took. */
async function submitUntilRefused(): Promise<string[]> {
	const ids: string[] = [];
	const refused = await eventually(
		async () => {
			const answer = await submit();
			if ('id' in answer) ids.push(answer.id);
			return 'id' in answer ? null : answer;
		},
		{ what: 'a refusal' },
	);
	expect(refused).toEqual({ status: 503, code: 'dependency-away', retryAfter: expect.any(Number) });
	expect(refused.retryAfter).toBeGreaterThan(0);
	return ids;
}

(disk === null ? test.skip : test)(
	'F20 while the disk is full, mails are refused with 503 and can be read, nothing is kept of them, and what was accepted is sent once, when there is room again',
	async () => {
		if (disk === null) return;
		const first = await submit();
		disk.fill();
		const ids = [...('id' in first ? [first.id] : []), ...(await submitUntilRefused())];
		expect((await api.call('/v1/messages')).status).toBe(200);
		expect((await mesh.db.pool.query<{ id: string }>('select id from send_record order by id')).rows.map(({ id }) => id)).toEqual(
			ids.sort(),
		);
		await mesh.publish();
		await mesh.send();
		await eventually(() => mesh.lines.some((line) => JSON.stringify(line).includes('No space left on device')), {
			what: 'publisher or sender to meet the full disk',
		});
		disk.relieve();
		await eventually(async () => (await mesh.db.pool.query(`select from send_state where status <> 'SENT'`)).rowCount === 0, {
			what: 'all to be sent',
			within: 20_000,
		});
		const { rows } = await mesh.db.pool.query<{ id: string }>(`select id from delivery_attempt order by id`);
		expect(rows.map(({ id }) => id)).toEqual(ids);
		for (const id of ids) expect(sink.mails.filter((mail) => mail.messageId.includes(id))).toHaveLength(1);
		expect(await submit()).toEqual({ id: expect.any(String) });
	},
);
