import { now } from '@tidings/model';
import type pg from 'pg';
import type { Accepted, AcceptRequest, AcceptResult, IdempotencyKey } from './accepting.js';
import { findKeys, type StoredAnswer } from './statements/find-keys.js';
import { insertAnswers } from './statements/insert-answers.js';
import { insertAttachments } from './statements/insert-attachments.js';
import { type FlowingRecord, insertRecords } from './statements/insert-records.js';
import { lockKeys } from './statements/lock-keys.js';
import { wasCommitted } from './statements/was-committed.js';
import { inTransaction, troubleOf } from './tx.js';

/** A caller's request whose records know their flows. */
export type FlowingRequest = AcceptRequest & { readonly records: readonly FlowingRecord[] };

/**
 * Accepts several callers' requests in one transaction and answers each. Callers that bring no key take no lock and wait for nobody.
 * A key that another transaction holds refuses only its own caller (`in-flight`). Two callers of one batch with the same idempotency key: the first is accepted, the others are `in-flight`.
 * When the connection breaks before the COMMIT was answered, the outcome is looked up by id. Throws what the database threw when nobody was accepted, or when that could not be found out.
 */
export async function acceptBatch(pool: pg.Pool, requests: readonly FlowingRequest[]): Promise<AcceptResult[]> {
	const plan: Plan = { results: null, ids: [] };
	let backend: number | null = null;
	try {
		return await inTransaction(
			pool,
			async (client) => {
				backend = (client as { processID?: number | null }).processID ?? null;
				await accept(client, requests, plan);
				return resultsOf(plan);
			},
			isSingleStatement(requests),
		);
	} catch (error) {
		if (plan.results === null || backend === null || troubleOf(error) !== 'away') throw error;
		if (await wasCommitted(pool, backend, plan.ids)) return plan.results;
		throw error;
	}
}

/** What is about to be committed: who is told what, and the ids that prove it. */
type Plan = { results: AcceptResult[] | null; ids: readonly string[] };

function resultsOf(plan: Plan): AcceptResult[] {
	if (plan.results === null) throw new Error('an accepting transaction ended without a plan');
	return plan.results;
}

/** Nothing to lock and nothing beside the one insert: the statement is its own transaction and saves two round trips. */
function isSingleStatement(requests: readonly FlowingRequest[]): boolean {
	return requests.every(
		(request) =>
			request.idempotency === null && request.records.every((record) => record.dedupeKey === null && record.attachments.length === 0),
	);
}

async function accept(client: pg.PoolClient, requests: readonly FlowingRequest[], plan: Plan): Promise<void> {
	if (isSingleStatement(requests)) {
		const records = requests.flatMap((request) => request.records);
		const results = (createdAt: string): AcceptResult[] =>
			requests.map((request) => ({ kind: 'accepted', ids: request.records.map((record) => record.id), deduplicated: [], createdAt }));
		plan.ids = records.map((record) => record.id);
		plan.results = results(now().toISOString());
		plan.results = results((await insertRecords(client, records)).toISOString());
		return;
	}
	await acceptKeyed(client, requests, plan);
}

const answerKey = (key: Pick<IdempotencyKey, 'tenantId' | 'operation' | 'key'>): string =>
	`i\n${key.tenantId}\n${key.operation}\n${key.key}`;
const twinKey = (tenantId: string, key: string): string => `d\n${tenantId}\n${key}`;

function keysOf(request: FlowingRequest): string[] {
	const twins = request.records.flatMap((record) => (record.dedupeKey === null ? [] : [twinKey(record.tenantId, record.dedupeKey)]));
	return request.idempotency === null ? twins : [answerKey(request.idempotency), ...twins];
}

async function acceptKeyed(client: pg.PoolClient, requests: readonly FlowingRequest[], plan: Plan): Promise<void> {
	const held = await lockKeys(client, [...new Set(requests.flatMap(keysOf))]);
	const free = requests.map((request) => !keysOf(request).some((key) => held.has(key)));
	const asking = requests.filter((_, index) => free[index]);
	const found = await findKeys(
		client,
		asking.flatMap((request) => (request.idempotency === null ? [] : [request.idempotency])),
		asking.flatMap((request) =>
			request.records.flatMap(({ tenantId, dedupeKey }) => (dedupeKey === null ? [] : [{ tenantId, key: dedupeKey }])),
		),
	);
	const answers = new Map(found.answers.map((answer) => [answerKey(answer), answer]));
	const twins = new Map(found.twins.map((twin) => [twinKey(twin.tenantId, twin.key), twin.recordId]));

	const taken = new Set<string>();
	const fresh: FlowingRecord[] = [];
	const plans = requests.map((request, index): AcceptResult | { accept: Omit<Accepted, 'createdAt'>; key: IdempotencyKey | null } => {
		if (free[index] !== true) return { kind: 'in-flight' };
		if (request.idempotency !== null) {
			const key = answerKey(request.idempotency);
			const answer = answers.get(key);
			if (answer !== undefined) return replay(answer, request.idempotency);
			if (taken.has(key)) return { kind: 'in-flight' };
			taken.add(key);
		}
		return { accept: admit(request.records, twins, fresh), key: request.idempotency };
	});

	const createdAt = (await insertRecords(client, fresh)).toISOString();
	await insertAttachments(client, fresh);
	const stored = plans.flatMap((one) =>
		'accept' in one && one.key !== null ? [{ key: one.key, response: { ...one.accept, createdAt } }] : [],
	);
	if (stored.length > 0) await insertAnswers(client, stored);
	plan.ids = fresh.map((record) => record.id);
	plan.results = plans.map((one) => ('accept' in one ? { kind: 'accepted', ...one.accept, createdAt } : one));
}

function replay(answer: StoredAnswer, key: IdempotencyKey): AcceptResult {
	return answer.bodySha256.equals(key.bodySha256) ? { kind: 'replayed', ...answer.response } : { kind: 'mismatch' };
}

/** Sorts one caller's records into new ones (added to `fresh`, remembered in `twins`) and such as are there already. */
function admit(records: readonly FlowingRecord[], twins: Map<string, string>, fresh: FlowingRecord[]): Omit<Accepted, 'createdAt'> {
	const ids: string[] = [];
	const deduplicated: number[] = [];
	for (const [index, record] of records.entries()) {
		const key = record.dedupeKey === null ? null : twinKey(record.tenantId, record.dedupeKey);
		const twin = key === null ? undefined : twins.get(key);
		if (twin === undefined) {
			if (key !== null) twins.set(key, record.id);
			fresh.push(record);
		} else deduplicated.push(index);
		ids.push(twin ?? record.id);
	}
	return { ids, deduplicated };
}
