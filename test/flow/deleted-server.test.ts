import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { wakeFlows } from '@tidings/db';
import { eventually } from '../harness/eventually.js';
import { type Mesh, makeMesh } from '../harness/mesh.js';
import { acceptRecords, makeSender, newRecord, type Sender } from '../harness/records.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';

let mesh: Mesh;
let sink: SmtpSink;
beforeAll(async () => {
	[mesh, sink] = [await makeMesh(), await startSmtpSink()];
	await mesh.publish();
	await mesh.send();
});
afterAll(async () => {
	await mesh.close();
	await sink.close();
});

/** Accepts a mail and answers where it ends, and why. */
async function endOf(sender: Sender): Promise<string> {
	const [id] = await acceptRecords(mesh.db, [newRecord(sender)]);
	const flows = await mesh.db.pool.query<{ id: string }>('select id from flow where gate = $1', [sender.configId]);
	await wakeFlows(
		mesh.db.pool,
		flows.rows.map((row) => ({ flowId: row.id, dueAt: null })),
	);
	return await eventually(
		async () => {
			const { rows } = await mesh.db.pool.query<{ status: string; category: string | null; answer: string | null }>(
				`select s.status, a.category, a.answer from send_state s join delivery_attempt a using (id) where id = $1 and s.finished_at is not null`,
				[id],
			);
			return rows[0] === undefined ? null : [rows[0].status, rows[0].category, rows[0].answer].join(' ');
		},
		{ what: 'a mail to end' },
	);
}

test('nothing goes through a mail server that is deleted, although a sender still has connections to it', async () => {
	const sender = await makeSender(mesh.db, { host: sink.host, port: sink.port });
	expect(await endOf(sender)).toMatch(/^SENT/);
	await mesh.db.pool.query('delete from mail_send_server_config where id = $1', [sender.configId]);
	expect(await endOf(sender)).toBe('DEAD_LETTER CONFIG The mail server of this message does not exist any more.');
	expect(sink.mails).toHaveLength(1);
	await eventually(() => sink.connections() === 0, { what: 'its connections to be closed' });
});
