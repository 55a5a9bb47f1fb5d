import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, test } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { makeProcessMesh, type ProcessMesh, type ProcessMeshOptions } from '../harness/process-mesh.js';

/** How long a condition is waited for: services start slowly on a busy machine, and leases must run out. */
export const PATIENCE = { within: 120_000 };

/** How long a test may take, in milliseconds, on a machine that is busy with more than this. */
const TEST_MS = 300_000;

/**
 * Declares tests with one mesh for the file, made anew after a test that failed, so that each failure is its own. Its API runs and its default server is the sink;
 * after each test all other services are killed.
 */
export function meshOfFile(options: () => Promise<ProcessMeshOptions> = async () => ({})) {
	let settings: ProcessMeshOptions = {};
	let made: ProcessMesh | undefined;
	const close = async (): Promise<void> => {
		const old = made;
		made = undefined;
		await old?.close();
	};
	const meshNow = async (): Promise<ProcessMesh> => {
		if (made !== undefined) return made;
		made = await makeProcessMesh(settings);
		await made.startReady('message-api');
		await made.addServer();
		return made;
	};
	beforeAll(async () => {
		settings = await options();
	}, TEST_MS);
	afterAll(close, TEST_MS);
	return (name: string, act: (mesh: ProcessMesh) => Promise<void>, limitMs = TEST_MS): void =>
		test(
			name,
			async () => {
				const mesh = await meshNow();
				const before = mesh.services.length;
				try {
					await within(act(mesh), limitMs - 30_000);
				} catch (error) {
					const words = mesh.tail(before);
					await close();
					throw new Error(`${error instanceof Error ? error.message : String(error)}\n\n${words}`, { cause: error });
				}
				for (const service of ['outbox-publisher', 'mail-sender', 'dead-letter'] as const) await mesh.stop(service);
				mesh.failpoints.disarmAll();
			},
			limitMs,
		);
}

/** Fails a test itself shortly before Jest would, so that it still can tell what it saw. */
async function within<T>(act: Promise<T>, ms: number): Promise<T> {
	const late = new AbortController();
	try {
		return await Promise.race([
			act,
			pause(ms, undefined, { signal: late.signal }).then(() => {
				throw new Error(`not done after ${ms} ms`);
			}),
		]);
	} finally {
		late.abort();
	}
}

/** How a record and its outbox entry stand, with its attempts in order. */
export type Seen = {
	readonly status: string;
	readonly entry: string | null;
	readonly ambiguous: boolean;
	readonly budgetUsed: number;
	readonly attempts: readonly string[];
	readonly letters: readonly string[];
};

/** Reads how a record stands. */
export async function look({ db }: ProcessMesh, id: string): Promise<Seen> {
	const { rows } = await db.pool.query<Seen>(
		`select s.status, s.ambiguous, s.budget_used as "budgetUsed", (select status from outbox_entry o where o.id = s.id) as entry,
			array(select a.outcome from delivery_attempt a where a.id = s.id order by a.attempt_no) as attempts,
			array(select l.source from dead_letter_message l where l.record_id = s.id order by l.created_at) as letters
		from send_state s where s.id = $1`,
		[id],
	);
	const [row] = rows;
	if (row === undefined) throw new Error(`no record ${id}`);
	return row;
}

/** Waits until a record has this status. */
export async function becomes(mesh: ProcessMesh, id: string, status: string): Promise<Seen> {
	return await eventually(
		async () => {
			const seen = await look(mesh, id);
			return seen.status === status ? seen : null;
		},
		{ ...PATIENCE, what: `record ${id} to be ${status}` },
	);
}

/** The mails at the sink that were made from a record. */
export function mailsOf({ sink }: ProcessMesh, id: string): number {
	return sink.mails.filter((mail) => mail.messageId.includes(id)).length;
}

/** Lets the publishers' leases run out now, as if their time had passed. */
export async function endPublisherLeases({ db }: ProcessMesh): Promise<void> {
	await db.pool.query(`update outbox_entry set lease_until = now() - interval '1 second' where status = 'PUBLISHING'`);
}

/** Resolves when so many more mails were accepted by the API than now. */
export async function acceptedMore({ submitter }: ProcessMesh, count: number): Promise<void> {
	const before = submitter.answered.length;
	await eventually(() => submitter.answered.length >= before + count, { ...PATIENCE, what: `${count} more mails to be accepted` });
}

/** Resolves when so many more mails have arrived at the sink than now. */
export async function arrivedMore({ sink }: ProcessMesh, count: number): Promise<void> {
	const before = sink.mails.length;
	await eventually(() => sink.mails.length >= before + count, { ...PATIENCE, what: `${count} more mails to arrive` });
}

/** Keeps callers submitting for as long as `act` runs; each then gets its last answer. */
export async function underLoad(mesh: ProcessMesh, act: () => Promise<void>, callers = 4): Promise<void> {
	let over = false;
	const caller = async (): Promise<void> => {
		while (!over) {
			await mesh.submitter.submit({}, PATIENCE);
			// A load that the machine can bear beside what is tested: nobody waits for this.
			await pause(100);
		}
	};
	const load = Promise.all(Array.from({ length: callers }, caller));
	try {
		// A caller that fails ends the test, also while `act` waits.
		await Promise.race([act(), load]);
	} finally {
		over = true;
		await load;
	}
}

/** What is wrong with the count of records: each answered key made exactly one, and nobody else made any. */
export async function strayRecords({ db, submitter }: ProcessMesh): Promise<number> {
	const { rows } = await db.pool.query<{ n: number }>('select count(*)::int as n from send_record');
	return (rows[0]?.n ?? 0) - new Set(submitter.answered).size;
}
