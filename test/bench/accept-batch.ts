import { ensureFlows, type NewRecord, openDb } from '@tidings/db';
import { createDatabase } from '../harness/database.js';
import { makeSender, newRecord } from '../harness/records.js';
import { startChild } from './child.js';
import { insertPlainly } from './insert-plainly.js';
import { eachWay } from './limits.js';
import { mailOf } from './mail.js';
import { median, type Ratio } from './measure.js';

const BATCHES = 40;
const CALLERS = 4;
const ITEMS = 500;
const ROUNDS = 5;

/** Ratio 2: `POST /v1/mails:batch` of 500, against the raw multi-row insert of the same rows. Four callers in both. */
export async function benchAcceptBatch(server: string): Promise<Ratio> {
	const ours: number[] = [];
	const limited: number[] = [];
	const limits: number[] = [];
	const items = Array.from({ length: ITEMS }, (_, n) => ({ to: ['ann@example.com'], ...mailOf(n) }));
	const body = JSON.stringify({ items });
	for (let round = 0; round < ROUNDS; round += 1) {
		limits.push(await insertRate(server, items));
		const { without, within } = await eachWay(round, (isBound) => postRate(server, body, isBound));
		ours.push(without);
		limited.push(within);
	}
	return {
		number: 2,
		name: 'batch accept over HTTP, 500 mails a request',
		ours: median(ours),
		limited: median(limited),
		limit: median(limits),
		limitName: 'raw multi-row insert of the same rows',
		unit: 'mails/s',
		floor: 0.5,
		goal: 0.6,
		notes: { batches: BATCHES, callers: CALLERS, rounds: ROUNDS },
	};
}

/** Runs `act` BATCHES times by CALLERS at once, after one for warming up; items a second. */
async function rateOf(act: () => Promise<void>): Promise<number> {
	await Promise.all(Array.from({ length: CALLERS }, act));
	let left = BATCHES;
	const began = performance.now();
	const caller = async (): Promise<void> => {
		while (left > 0) {
			left -= 1;
			await act();
		}
	};
	await Promise.all(Array.from({ length: CALLERS }, caller));
	return (BATCHES * ITEMS * 1000) / (performance.now() - began);
}

async function postRate(server: string, body: string, isBound: boolean): Promise<number> {
	const database = await createDatabase(server);
	const child = startChild('api-worker.ts', database.url, ...(isBound ? ['limited'] : []));
	const { api, apiKey } = await child.next<{ api: string; apiKey: string }>();
	const rate = await rateOf(async () => {
		const response = await fetch(`${api}/v1/mails:batch`, {
			method: 'POST',
			headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
			body,
		});
		if (response.status !== 202) throw new Error(`a batch was answered with ${response.status}`);
		await response.arrayBuffer();
	});
	await child.end();
	await database.drop();
	return rate;
}

async function insertRate(server: string, items: readonly { subject: string; html: string }[]): Promise<number> {
	const database = await createDatabase(server);
	const db = openDb({ url: database.url, name: 'bench', connections: CALLERS });
	const sender = await makeSender(db);
	const [flowId = ''] = await ensureFlows(db.pool, [
		{ tenantId: sender.tenantId, gate: sender.configId, lane: 'normal', route: 'mail-send' },
	]);
	const records = (): NewRecord[] => items.map((item) => newRecord(sender, { text: null, ...item }));
	const rate = await rateOf(() => insertPlainly(db.pool, records(), flowId));
	await db.close();
	await database.drop();
	return rate;
}
