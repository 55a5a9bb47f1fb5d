import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Keyring, open, parseKeys } from '@tidings/crypto';
import { createServer, rotateKeys } from '@tidings/message-api';
import { newId } from '@tidings/model';
import { eventually } from '../harness/eventually.js';
import { brokenPromises } from '../harness/invariants.js';
import { type Mesh, makeMesh, type Running } from '../harness/mesh.js';
import { acceptRecords, newRecord, type Sender } from '../harness/records.js';
import { type SmtpSink, startSmtpSink } from '../harness/smtp-sink.js';
import { standingOf } from './standing.js';

const TABLE = 'mail_send_server_config';
const LOGIN = { username: 'shop', password: 'MARK-password' };
const K1 = `k1:${randomBytes(32).toString('base64')}`;
const K2 = `k2:${randomBytes(32).toString('base64')}`;
const OLD = parseKeys(K1);
const BOTH = parseKeys(`${K2},${K1}`);
const NEW = parseKeys(K2);

let mesh: Mesh;
let sink: SmtpSink;
beforeAll(async () => {
	mesh = await makeMesh();
	sink = await startSmtpSink({ login: LOGIN });
	await mesh.publish();
});
afterAll(async () => {
	await mesh.close();
	await sink.close();
});

/** Makes a tenant with a server that asks for a login, as an API with these keys does. */
async function makeSender(keyring: Keyring): Promise<Sender> {
	const tenantId = newId();
	await mesh.db.prisma.tenant.create({ data: { id: tenantId, name: tenantId } });
	const context = { db: mesh.db, keyring, allowPrivateHosts: true, actor: 'test', traceId: newId() };
	const { id } = await createServer(context, tenantId, {
		name: 'main',
		host: sink.host,
		port: sink.port,
		security: 'none',
		...LOGIN,
		from: { address: 'shop@example.com' },
	});
	return { tenantId, configId: id };
}
const startSender = (keyring: Keyring): Promise<Running> => mesh.send({ openSecret: (sealed, field) => open(keyring, sealed, field) });
/** The servers as a backup would hold them. */
const dump = async (): Promise<string> => JSON.stringify((await mesh.db.pool.query(`select * from ${TABLE}`)).rows);

test('F46 keys are rotated under load: nothing is lost, no log-in fails, and afterwards the old key is needed nowhere', async () => {
	const senders = await Promise.all([makeSender(OLD), makeSender(OLD), makeSender(OLD)]);
	const ids: string[] = [];
	const load = { goesOn: true };
	const pump = async (): Promise<void> => {
		while (load.goesOn) {
			ids.push(
				...(await acceptRecords(
					mesh.db,
					senders.flatMap((sender) => [newRecord(sender), newRecord(sender)]),
				)),
			);
			await eventually(() => ids.length - sink.mails.length < 40, { within: 20_000, what: 'the mails to keep up' });
		}
	};
	/** Some mails more are accepted and delivered. */
	const flow = async (): Promise<void> => {
		const goal = ids.length + 12;
		await eventually(() => sink.mails.length >= goal, { within: 20_000, what: 'mails to flow' });
	};
	const first = await startSender(OLD);
	const running = pump();
	await flow();
	// Senders first: they open what the API seals.
	const both = await startSender(BOTH);
	await first.stop();
	senders.push(await makeSender(BOTH));
	await flow();
	const runs = await Promise.all(
		[1, 2].map(() => rotateKeys({ pool: mesh.db.pool, keyring: BOTH, dryRun: false, batch: 2, report: () => undefined })),
	);
	expect(runs.map(({ left, failed, byKey }) => ({ left, failed, byKey }))).toEqual(Array(2).fill({ left: 0, failed: 0, byKey: { k2: 4 } }));
	expect(await dump()).not.toMatch(/"k1\.|MARK-password/);
	await flow();
	const last = await startSender(NEW);
	await both.stop();
	await flow();
	load.goesOn = false;
	await running;
	await eventually(async () => (await mesh.db.prisma.sendState.count({ where: { status: 'SENT' } })) === ids.length, {
		within: 20_000,
		what: 'every mail to be SENT',
	});
	await last.stop();
	expect(await mesh.db.prisma.deliveryAttempt.count({ where: { outcome: { not: 'ACCEPTED' } } })).toBe(0);
	const evidence = { db: mesh.db, answered: ids, mails: sink.mails, lines: [], secrets: ['MARK-password'] };
	expect(await brokenPromises(evidence)).toEqual([]);
	expect(sink.mails).toHaveLength(ids.length);
});

const set = (sql: string, values: unknown[]): Promise<unknown> => mesh.db.pool.query(`update ${TABLE} set ${sql}`, values);
const sealedOf = async (id: string, column: 'passwordSealed' | 'dkimKeySealed' = 'passwordSealed'): Promise<string | null> =>
	(await mesh.db.prisma.mailSendServerConfig.findUniqueOrThrow({ where: { id } }))[column];

test.each<[string, string, (mine: Sender, other: Sender) => Promise<Keyring>]>([
	['the key is missing', 'needs the key k1', async () => NEW],
	[
		'the key is another under the same id',
		'does not open with the key k1',
		async () => parseKeys(`k1:${randomBytes(32).toString('base64')}`),
	],
	[
		"the ciphertext is another tenant's",
		'does not open with the key k1',
		async (mine, other) => {
			await set('password_sealed = $2 where id = $1', [mine.configId, await sealedOf(other.configId)]);
			return OLD;
		},
	],
	[
		"the ciphertext is another row's of the same tenant",
		'does not open with the key k1',
		async (mine, other) => {
			const stolen = await sealedOf(other.configId);
			await set(`tenant_id = $2, name = 'second', is_default = false where id = $1`, [other.configId, mine.tenantId]);
			await set('password_sealed = $2 where id = $1', [mine.configId, stolen]);
			return OLD;
		},
	],
	[
		"the row has become another tenant's",
		'does not open with the key k1',
		async (mine, other) => {
			await set(`tenant_id = $2, name = 'second', is_default = false where id = $1`, [mine.configId, other.tenantId]);
			return OLD;
		},
	],
	[
		'the ciphertext stands in another column',
		'does not open with the key k1',
		async (mine) => {
			await set(`dkim_domain = 'example.com', dkim_selector = 's1', dkim_key_sealed = password_sealed where id = $1`, [mine.configId]);
			return OLD;
		},
	],
])('a sender fails closed when %s: the mail is a dead letter that names the key id only', async (_, says, arrange) => {
	const [mine, other] = await Promise.all([makeSender(OLD), makeSender(OLD)]);
	const keyring = await arrange(mine, other);
	const before = sink.mails.length;
	const sender = await startSender(keyring);
	const [id = ''] = await acceptRecords(mesh.db, [newRecord(mine)]);
	await eventually(async () => (await standingOf(mesh.db, id)).status === 'DEAD_LETTER', { what: 'the dead letter' });
	await sender.stop();
	const [attempt] = await mesh.db.prisma.deliveryAttempt.findMany({ where: { id } });
	expect(attempt).toMatchObject({ category: 'CONFIG', answer: expect.stringContaining(says) });
	const sealed = String(await sealedOf(mine.configId))
		.split('.')
		.slice(1);
	const told = JSON.stringify([attempt, await mesh.db.prisma.deadLetterMessage.findMany({ where: { recordId: id } }), mesh.lines]);
	for (const part of [...sealed, 'MARK-password', ...[K1, K2].map((key) => key.slice(3))]) expect(told).not.toContain(part);
	expect(sink.mails).toHaveLength(before);
});
