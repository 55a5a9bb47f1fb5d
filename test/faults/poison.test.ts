import { expect } from '@jest/globals';
import { openBroker } from '@tidings/broker';
import { newId } from '@tidings/model';
import { eventually } from '../harness/eventually.js';
import type { ProcessMesh } from '../harness/process-mesh.js';
import { becomes, look, mailsOf, meshOfFile, PATIENCE } from './kit.js';

// Messages that no sender can process, through a real Pulsar.

const faultTest = meshOfFile();
const TOPIC = 'mail-send-normal';

const traceId = newId().replaceAll('-', '');
const envelope = (change: Readonly<Record<string, unknown>>) =>
	JSON.stringify({ v: 1, recordId: newId(), tenantId: newId(), traceId, ...change });

/** Publishes past the outbox, as a stranger would. */
async function publish({ brokerUrl: url, namespace }: ProcessMesh, payloads: readonly (string | Buffer)[], topic = TOPIC): Promise<void> {
	const broker = await openBroker({ url, namespace });
	try {
		for (const payload of payloads) {
			const message = { topic, payload: Buffer.from(payload), properties: {} };
			await eventually(async () => (await broker.publish([message]))[0]?.kind === 'confirmed', { ...PATIENCE, what: 'a confirmed poison' });
		}
	} finally {
		await broker.close();
	}
}

type Letter = {
	readonly topic: string;
	readonly message_id: string;
	readonly error: string;
	readonly envelope: unknown;
	readonly record_id: string | null;
};

async function letters({ db }: ProcessMesh): Promise<Letter[]> {
	const { rows } = await db.pool.query<Letter>(
		`select topic, message_id, error, envelope, record_id from dead_letter_message where source = 'BROKER_POISON' order by created_at, id`,
	);
	return rows;
}

async function swallowed(mesh: ProcessMesh): Promise<void> {
	await eventually(async () => (await mesh.backlog()) === 0, { ...PATIENCE, what: 'every message to be acknowledged' });
}

/** Closes the topic at the broker: it forgets how often it delivered what, and what it was asked to delay. */
async function unload({ brokerUrl, namespace }: ProcessMesh): Promise<void> {
	const url = `${brokerUrl.replace(/^ws/, 'http')}/admin/v2/persistent/${namespace}/${TOPIC}/unload`;
	expect((await fetch(url, { method: 'PUT' })).status).toBe(204);
}

faultTest(
	'F15 poison of every kind is archived once with its envelope and acknowledged, and good mails behind it are delivered',
	async (mesh) => {
		await mesh.startReady('outbox-publisher', 'mail-sender');
		const kinds = {
			'not JSON': '{"v":1,',
			'another version': envelope({ v: 2 }),
			'an unknown record': envelope({ tenantId: mesh.tenantId }),
			'an unknown tenant': envelope({
				recordId: await mesh.submitter.submit({ notBefore: new Date(Date.now() + 3_600_000).toISOString() }),
			}),
			'no trace': JSON.stringify({ v: 1, recordId: newId(), tenantId: mesh.tenantId }),
			'five megabytes': Buffer.alloc(5 * 1024 * 1024 - 4096, 'x'),
			'bytes that are no text': Buffer.from([0, 1, 2, 0xff, 0xfe]),
		};
		await publish(mesh, Object.values(kinds));
		const good = await Promise.all(Array.from({ length: 20 }, () => mesh.submitter.submit()));
		for (const id of good) await becomes(mesh, id, 'SENT');
		await swallowed(mesh);
		const archived = await letters(mesh);
		expect(archived).toHaveLength(Object.keys(kinds).length);
		expect(new Set(archived.map((one) => one.message_id)).size).toBe(archived.length);
		expect(archived.every((one) => one.topic === TOPIC && one.error !== '' && one.envelope !== null)).toBe(true);
		expect(JSON.stringify(archived[0]?.envelope)).toContain('{\\"v\\":1,');
		await mesh.db.pool.query(`update send_state set due_at = now() where status = 'PENDING'`);
		await mesh.db.pool.query(`update outbox_entry set due_at = now()`);
		await mesh.db.pool.query('update flow set next_at = now()');
		await mesh.drained();
		expect(await mesh.broken()).toEqual([]);
	},
);

faultTest(
	'F14 a record that its sender cannot handle is archived at the fifth time, counted in PostgreSQL while the broker forgets its counts',
	async (mesh) => {
		await mesh.start('outbox-publisher', { TIDINGS_HEAL_SECONDS: '600' }).ready();
		const [sender] = await mesh.startReady('mail-sender');
		mesh.failpoints.arm('received', 'throw');
		const id = await mesh.submitter.submit();
		for (let time = 1; time < 5; time++) {
			await eventually(() => mesh.failpoints.met('received') === time, { ...PATIENCE, what: `failure ${time}` });
			await eventually(
				async () => (await mesh.db.pool.query('select from outbox_entry where id = $1 and nacks = $2', [id, time])).rows.length === 1,
				{ ...PATIENCE, what: `failure ${time} to be counted` },
			);
			await unload(mesh);
		}
		expect(await becomes(mesh, id, 'DEAD_LETTER')).toMatchObject({ entry: null, letters: ['BROKER_POISON'], attempts: [] });
		mesh.failpoints.disarm('received');
		await swallowed(mesh);
		expect(sender?.running).toBe(true);
		await becomes(mesh, await mesh.submitter.submit(), 'SENT');
		expect(mailsOf(mesh, id)).toBe(0);
		await mesh.drained();
		expect(await mesh.broken()).toEqual([]);
	},
);

faultTest(
	'F16 poison whose archiving fails is not acknowledged: an error line tells of it, and it is archived when that works again',
	async (mesh) => {
		const [, sender] = await mesh.startReady('outbox-publisher', 'mail-sender');
		const before = (await letters(mesh)).length;
		mesh.failpoints.arm('archiving', 'throw');
		await publish(mesh, ['not JSON at all']);
		await eventually(() => (sender?.said('poison could not be archived and comes back').length ?? 0) > 0, {
			...PATIENCE,
			what: 'an error line',
		});
		expect(await mesh.backlog()).toBe(1);
		// It comes back by itself after half a minute; a broker that lets go of the topic brings it at once.
		await unload(mesh);
		await eventually(() => mesh.failpoints.met('archiving') >= 2, { ...PATIENCE, what: 'another try' });
		expect(await letters(mesh)).toHaveLength(before);
		mesh.failpoints.disarm('archiving');
		await unload(mesh);
		await eventually(async () => (await letters(mesh)).length === before + 1, { ...PATIENCE, what: 'the letter' });
		await swallowed(mesh);
	},
);

faultTest('F16 what stands in the dead-letter topic waits there until dead-letter can archive it, and is archived once', async (mesh) => {
	await mesh.startReady('outbox-publisher', 'mail-sender', 'dead-letter');
	const before = (await letters(mesh)).length;
	mesh.failpoints.arm('archiving', 'throw', { times: 3 });
	await publish(mesh, [envelope({ tenantId: mesh.tenantId })], `${TOPIC}-DLQ`);
	await eventually(() => mesh.failpoints.met('archiving') > 0, { ...PATIENCE, what: 'a failing try' });
	expect(await mesh.backlog({ dead: true })).toBe(1);
	const [, , archiver] = mesh.services.filter((one) => one.running && one.service !== 'message-api');
	mesh.failpoints.disarm('archiving');
	await archiver?.kill();
	archiver?.restart();
	await eventually(async () => (await mesh.backlog({ dead: true })) === 0, { ...PATIENCE, what: 'the message to be acknowledged' });
	expect(await letters(mesh)).toHaveLength(before + 1);
	expect((await look(mesh, mesh.submitter.answered[0] ?? '')).status).toBe('SENT');
});
