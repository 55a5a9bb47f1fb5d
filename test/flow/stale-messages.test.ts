import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { moveTenant, wakeFlows } from '@tidings/db';
import { encodeEnvelope, newId } from '@tidings/model';
import { eventually } from '../harness/eventually.js';
import { type Mesh, makeMesh } from '../harness/mesh.js';
import { acceptRecords, makeSender, newRecord } from '../harness/records.js';

let mesh: Mesh;
beforeAll(async () => {
	mesh = await makeMesh();
});
afterAll(async () => await mesh.close());

const letters = async (): Promise<string[]> =>
	(await mesh.db.pool.query<{ envelope: string }>('select envelope::text from dead_letter_message')).rows.map((row) => row.envelope);

test('messages that waited with the broker while their tenant was erased leave no dead letter; one of which nobody knows anything does', async () => {
	const sender = await makeSender(mesh.db);
	await acceptRecords(mesh.db, [newRecord(sender), newRecord(sender)]);
	await mesh.publish({ eraseGraceSeconds: 0 });
	const { rows } = await mesh.db.pool.query<{ id: string }>('select id from flow');
	await wakeFlows(
		mesh.db.pool,
		rows.map(({ id }) => ({ flowId: id, dueAt: null })),
	);
	const published = async (): Promise<boolean> =>
		(await mesh.db.pool.query(`select from outbox_entry where status = 'PUBLISHED'`)).rowCount === 2;
	await eventually(published, { what: 'both to be published' });
	expect(await moveTenant(mesh.db.pool, sender.tenantId, { act: 'delete', queued: 'cancel' })).toBe(true);
	const erased = async (): Promise<boolean> => (await mesh.db.pool.query(`select from tenant where status = 'DELETED'`)).rowCount === 1;
	await eventually(erased, { what: 'the tenant to be erased' });

	const recordId = newId();
	const envelope = encodeEnvelope({ recordId, tenantId: newId(), traceId: newId().replaceAll('-', '') });
	// Behind the others in the same topic.
	await mesh.broker.publish([{ topic: 'mail-send-normal', payload: envelope, properties: {} }]);
	await mesh.send();
	await eventually(async () => (await letters()).length > 0, { what: 'a dead letter' });
	await eventually(async () => (await mesh.broker.backlog('mail-send-normal', 'mail-sender')) === 0, { what: 'the topic to be empty' });
	expect(await letters()).toEqual([expect.stringContaining(recordId)]);
});
