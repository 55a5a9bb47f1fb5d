import { type Db, ensureFlows, openDb, wakeFlows } from '@tidings/db';
import { createDatabase } from '../harness/database.js';
import { createNamespace } from '../harness/namespace.js';
import { startPulsar } from '../harness/pulsar.js';
import { acceptRecords, makeSender, newRecord, type Sender } from '../harness/records.js';
import { startChild } from './child.js';
import { fillQueue } from './fill-queue.js';
import { mailOf } from './mail.js';
import { median, type Ratio } from './measure.js';

const WARM_UP = 5;
const PROBES = 20;
/** Far enough apart that an idle mesh is idle again when the next one comes. */
const PAUSE_MS = 100;
/** What a backlog may cost beside twice the idle delay. */
const GRACE_MS = 1_000;
/** How often a mail is looked at. */
const LOOK_MS = 2;

/** Milliseconds from accepted to SENT of first mails: through a server of their tenant's own, and through the one that the tenant with the backlog uses. */
type Delays = { readonly own: readonly number[]; readonly shared: readonly number[]; readonly sentMeanwhile: number };

/**
 * Ratio 7: how long the first mail of a tenant takes from accepted to SENT while another tenant has `rows` mails queued that are being worked on, against twice what it takes in an idle
 * mesh and one second. The slowest of twenty counts, each of a tenant that is new; publisher, sender and the embedded broker are one process. The notes say it through Pulsar,
 * and of tenants whose mails go through the very server that the backlog waits for.
 */
export async function benchBesideBacklog(server: string, rows: number): Promise<Ratio> {
	const sink = startChild('sink-worker.ts');
	const { port } = await sink.next<{ port: number }>();
	const idle = await measureDelays(server, { port, rows: 0, broker: [] });
	const busy = await measureDelays(server, { port, rows, broker: [] });
	const pulsar = await startPulsar();
	const throughPulsar = async (queued: number): Promise<Delays> => {
		const { wsUrl, namespace } = await createNamespace(pulsar.webUrl);
		return await measureDelays(server, { port, rows: queued, broker: [wsUrl, namespace] });
	};
	const pulsarIdle = await throughPulsar(0);
	const pulsarBusy = await throughPulsar(rows);
	await pulsar.stop();
	await sink.end();
	return {
		number: 7,
		name: `first mail of a tenant beside another's ${rows} queued ones, accepted → SENT`,
		ours: 1_000 / Math.max(...busy.own),
		limit: 1_000 / boundOf(idle.own),
		limitName: `within twice the idle ${median(idle.own).toFixed(0)} ms + 1 s`,
		unit: 'mails/s by the slowest',
		floor: 1,
		goal: 1,
		notes: {
			probes: PROBES,
			...notesOf('', idle, busy),
			'of the backlog sent meanwhile': busy.sentMeanwhile,
			...notesOf('through Pulsar ', pulsarIdle, pulsarBusy),
		},
	};
}

const boundOf = (idle: readonly number[]): number => 2 * median(idle) + GRACE_MS;

function notesOf(how: string, idle: Delays, busy: Delays): Record<string, string> {
	const say = (key: 'own' | 'shared'): string =>
		`${median(idle[key]).toFixed(0)} idle, ${median(busy[key]).toFixed(0)} beside it, ${Math.max(...busy[key]).toFixed(0)} at most, bound ${boundOf(idle[key]).toFixed(0)}`;
	return { [`${how}ms`]: say('own'), [`${how}by the same server ms`]: say('shared') };
}

/** Delays in a mesh of its own, in which a tenant has `rows` mails queued. `broker`: its address and namespace; none: the embedded one. */
async function measureDelays(
	server: string,
	{ port, rows, broker }: { port: number; rows: number; broker: readonly string[] },
): Promise<Delays> {
	const database = await createDatabase(server);
	const db = openDb({ url: database.url, name: 'bench' });
	const busy = await makeSender(db, { port });
	const flowId = await flowOf(db, busy);
	await fillQueue(database.url, [{ ...busy, flowId }], rows);
	const worker = startChild('mesh-worker.ts', database.url, ...broker);
	await worker.next();
	await wakeFlows(db.pool, [{ flowId, dueAt: null }]);
	const own: number[] = [];
	const shared: number[] = [];
	for (let n = 0; n < WARM_UP + PROBES; n += 1) {
		const tenant = await makeSender(db, { port });
		const delay = await firstMail(db, tenant);
		const other = await makeSender(db);
		const sharedDelay = await firstMail(db, { ...other, configId: busy.configId });
		if (n < WARM_UP) continue;
		own.push(delay);
		shared.push(sharedDelay);
	}
	const left = await openOf(db, busy);
	if (rows > 0 && left === 0) throw new Error(`all ${rows} queued mails were sent before the last first mail: queue more of them`);
	await worker.end();
	await db.close();
	await database.drop();
	return { own, shared, sentMeanwhile: rows - left };
}

async function flowOf(db: Db, { tenantId, configId }: Sender): Promise<string> {
	const [flowId = ''] = await ensureFlows(db.pool, [{ tenantId, gate: configId, lane: 'normal', route: 'mail-send' }]);
	return flowId;
}

/** Accepts one mail as message-api does, and answers how long it took from there until it was SENT. */
async function firstMail(db: Db, sender: Sender): Promise<number> {
	await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
	const flowId = await flowOf(db, sender);
	const [id = ''] = await acceptRecords(db, [newRecord(sender, { text: null, ...mailOf(0) })]);
	const began = performance.now();
	await wakeFlows(db.pool, [{ flowId, dueAt: null }]);
	for (;;) {
		const { rows } = await db.pool.query<{ status: string }>({
			name: 'bench-status',
			text: 'select status from send_state where id = $1 and tenant_id = $2',
			values: [id, sender.tenantId],
		});
		const status = rows[0]?.status;
		if (status === 'SENT') return performance.now() - began;
		if (status !== 'PENDING' && status !== 'SENDING') throw new Error(`a first mail is ${status}`);
		await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
	}
}

async function openOf(db: Db, { tenantId }: Sender): Promise<number> {
	const { rows } = await db.pool.query<{ n: number }>(
		`select count(*)::int as n from send_state where tenant_id = $1 and status in ('PENDING', 'RETRY')`,
		[tenantId],
	);
	return rows[0]?.n ?? 0;
}
