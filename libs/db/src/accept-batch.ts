import { type MonthlyCaps, NO_CAPS, now } from '@tidings/model';
import type pg from 'pg';
import type { Accepted, AcceptRequest, AcceptResult, IdempotencyKey, QuotaWarning } from './accepting.js';
import { costsOf } from './quota-costs.js';
import { createRooms, type Rooms } from './quota-rooms.js';
import { findKeys, type StoredAnswer } from './statements/find-keys.js';
import { insertAnswers } from './statements/insert-answers.js';
import { insertAttachments } from './statements/insert-attachments.js';
import { type FlowingRecord, insertRecords } from './statements/insert-records.js';
import { lockKeys } from './statements/lock-keys.js';
import { lockQuota } from './statements/lock-quota.js';
import { isQuotaFull } from './statements/take-quota.js';
import { warnQuota } from './statements/warn-quota.js';
import { wasCommitted } from './statements/was-committed.js';
import { inTransaction, troubleOf } from './tx.js';

/** A caller's request whose records know their flows. */
export type FlowingRequest = AcceptRequest & { readonly records: readonly FlowingRecord[] };

/** What the operator says about quotas, and whether somebody may be over one. */
export type AcceptOptions = {
	/** The caps of tenants for whom nothing is set; default: none. */
	readonly caps?: MonthlyCaps;
	/** Looks how much room there is before anything is written, and holds it. Without it the records are written and then counted, and it is done all over when that shows a full bucket: quicker as long as there is room. */
	readonly careful?: boolean;
	/** Counts what it costs and refuses nobody for it; default false. */
	readonly beyond?: boolean;
};

/** How an accepting transaction ended for each caller, in order, and what is to be warned of. */
export type AcceptOutcome = { readonly results: readonly AcceptResult[]; readonly warnings: readonly QuotaWarning[] };

/** A bucket is full at the end though there was room at the start when its cap is lowered, or its first row is made, in between. */
const QUOTA_ROUNDS = 5;

/**
 * Accepts several callers' requests in one transaction and answers each. Callers that bring no key take no lock and wait for nobody.
 * A key that another transaction holds refuses only its own caller (`in-flight`). Two callers of one batch with the same idempotency key: the first is accepted, the others are `in-flight`.
 * What the new records cost is taken of the monthly quota in the same transaction, all of a caller or nothing; who comes first is served first, and who finds no room is `over-quota`.
 * When the connection breaks before the COMMIT was answered, the outcome is looked up by id. Throws what the database threw when nobody was accepted, or when that could not be found out.
 */
export async function acceptBatch(
	pool: pg.Pool,
	requests: readonly FlowingRequest[],
	{ caps = NO_CAPS, careful = false, beyond = false }: AcceptOptions = {},
): Promise<AcceptOutcome> {
	for (let round = careful ? 1 : 0; ; round += 1) {
		try {
			return await acceptOnce(pool, requests, { caps, beyond, careful: round > 0 });
		} catch (error) {
			if (!isQuotaFull(error) || round >= QUOTA_ROUNDS) throw error;
		}
	}
}

async function acceptOnce(pool: pg.Pool, requests: readonly FlowingRequest[], options: Required<AcceptOptions>): Promise<AcceptOutcome> {
	const plan: Plan = { results: null, ids: [], warnings: [] };
	let backend: number | null = null;
	const isSingle = !options.careful && isSingleStatement(requests);
	try {
		return await inTransaction(
			pool,
			async (client) => {
				backend = (client as { processID?: number | null }).processID ?? null;
				await (isSingle ? acceptPlainly(client, requests, { plan, ...options }) : acceptKeyed(client, requests, { plan, ...options }));
				return outcomeOf(plan);
			},
			isSingle,
		);
	} catch (error) {
		if (plan.results === null || backend === null || troubleOf(error) !== 'away') throw error;
		if (await wasCommitted(pool, backend, plan.ids)) return outcomeOf(plan);
		throw error;
	}
}

/** What is about to be committed: who is told what, the ids that prove it, and what is to be warned of. */
type Plan = { results: AcceptResult[] | null; ids: readonly string[]; warnings: readonly QuotaWarning[] };
type Planning = Required<AcceptOptions> & { readonly plan: Plan };

function outcomeOf({ results, warnings }: Plan): AcceptOutcome {
	if (results === null) throw new Error('an accepting transaction ended without a plan');
	return { results, warnings };
}

/** Nothing to lock and nothing beside the one insert: the statement is its own transaction and saves two round trips. */
function isSingleStatement(requests: readonly FlowingRequest[]): boolean {
	return requests.every(
		(request) =>
			request.idempotency === null && request.records.every((record) => record.dedupeKey === null && record.attachments.length === 0),
	);
}

async function acceptPlainly(client: pg.PoolClient, requests: readonly FlowingRequest[], { plan, ...rule }: Planning): Promise<void> {
	const records = requests.flatMap((request) => request.records);
	const results = (createdAt: string): AcceptResult[] =>
		requests.map((request) => ({ kind: 'accepted', ids: request.records.map((record) => record.id), deduplicated: [], createdAt }));
	plan.ids = records.map((record) => record.id);
	plan.results = results(now().toISOString());
	const { at, warnings } = await insertRecords(client, records, rule);
	plan.results = results(at.toISOString());
	plan.warnings = warnings;
}

const answerKey = (key: Pick<IdempotencyKey, 'tenantId' | 'operation' | 'key'>): string =>
	`i\n${key.tenantId}\n${key.operation}\n${key.key}`;
const twinKey = (tenantId: string, key: string): string => `d\n${tenantId}\n${key}`;

function keysOf(request: FlowingRequest): string[] {
	const twins = request.records.flatMap((record) => (record.dedupeKey === null ? [] : [twinKey(record.tenantId, record.dedupeKey)]));
	return request.idempotency === null ? twins : [answerKey(request.idempotency), ...twins];
}

/** In this order: the keys, what stands under them, the room, and then everything that is written, the quota last. */
async function acceptKeyed(
	client: pg.PoolClient,
	requests: readonly FlowingRequest[],
	{ plan, careful, ...rule }: Planning,
): Promise<void> {
	const { held, at } = await lockKeys(client, [...new Set(requests.flatMap(keysOf))]);
	const createdAt = at.toISOString();
	const isFree = (request: FlowingRequest): boolean => !keysOf(request).some((key) => held.has(key));
	const asking = requests.filter(isFree);
	const stored = await findStored(client, asking);
	const admission: Admission = {
		...stored,
		rooms: careful && !rule.beyond ? await holdRooms(client, asking, rule.caps) : null,
		taken: new Set(),
		fresh: [],
	};
	const free = new Set(asking);
	const plans = requests.map((request) => (free.has(request) ? planOf(request, admission) : ({ kind: 'in-flight' } as const)));

	const { fresh } = admission;
	await insertAttachments(client, fresh);
	const answers = plans.flatMap((one) =>
		'accept' in one && one.key !== null ? [{ key: one.key, response: { ...one.accept, createdAt } }] : [],
	);
	if (answers.length > 0) await insertAnswers(client, answers);
	const { warnings } = fresh.length > 0 ? await insertRecords(client, fresh, rule) : { warnings: [] };
	plan.warnings = [...warnings, ...(await warnQuota(client, admission.rooms?.untold() ?? []))];
	plan.ids = fresh.map((record) => record.id);
	plan.results = plans.map((one) => ('accept' in one ? { kind: 'accepted', ...one.accept, createdAt } : one));
}

/** What callers meet, one after the other. */
type Admission = {
	readonly answers: ReadonlyMap<string, StoredAnswer>;
	/** Records by their dedupe keys, with those of earlier callers. */
	readonly twins: Map<string, string>;
	/** Idempotency keys of earlier callers. */
	readonly taken: Set<string>;
	/** Null: nobody looks for room before all is written. */
	readonly rooms: Rooms | null;
	/** What is to be written. */
	readonly fresh: FlowingRecord[];
};

async function findStored(client: pg.PoolClient, asking: readonly FlowingRequest[]): Promise<Pick<Admission, 'answers' | 'twins'>> {
	const found = await findKeys(
		client,
		asking.flatMap((request) => (request.idempotency === null ? [] : [request.idempotency])),
		asking.flatMap((request) =>
			request.records.flatMap(({ tenantId, dedupeKey }) => (dedupeKey === null ? [] : [{ tenantId, key: dedupeKey }])),
		),
	);
	return {
		answers: new Map(found.answers.map((answer) => [answerKey(answer), answer])),
		twins: new Map(found.twins.map((twin) => [twinKey(twin.tenantId, twin.key), twin.recordId])),
	};
}

async function holdRooms(client: pg.PoolClient, asking: readonly FlowingRequest[], caps: MonthlyCaps): Promise<Rooms> {
	const costs = costsOf(asking.flatMap((request) => request.records));
	return createRooms(costs, await lockQuota(client, costs, caps));
}

type CallerPlan = Exclude<AcceptResult, { kind: 'accepted' }> | { accept: Omit<Accepted, 'createdAt'>; key: IdempotencyKey | null };

function planOf({ records, idempotency }: FlowingRequest, admission: Admission): CallerPlan {
	if (idempotency === null) return admit(records, null, admission);
	const key = answerKey(idempotency);
	const answer = admission.answers.get(key);
	if (answer !== undefined) return replay(answer, idempotency);
	return admission.taken.has(key) ? { kind: 'in-flight' } : admit(records, idempotency, admission);
}

function replay(answer: StoredAnswer, key: IdempotencyKey): CallerPlan {
	return answer.bodySha256.equals(key.bodySha256) ? { kind: 'replayed', ...answer.response } : { kind: 'mismatch' };
}

/** Sorts one caller's records into new ones and such as are there already. Only when there is room for the new ones is the caller remembered in the admission. */
function admit(records: readonly FlowingRecord[], key: IdempotencyKey | null, admission: Admission): CallerPlan {
	const ids: string[] = [];
	const deduplicated: number[] = [];
	const own = new Map<string, string>();
	const fresh: [number, FlowingRecord][] = [];
	for (const [index, record] of records.entries()) {
		const twinOf = record.dedupeKey === null ? null : twinKey(record.tenantId, record.dedupeKey);
		const twin = twinOf === null ? undefined : (own.get(twinOf) ?? admission.twins.get(twinOf));
		if (twin === undefined) {
			if (twinOf !== null) own.set(twinOf, record.id);
			fresh.push([index, record]);
		} else deduplicated.push(index);
		ids.push(twin ?? record.id);
	}
	const refusal = admission.rooms?.take(fresh) ?? null;
	if (refusal !== null) return { kind: 'over-quota', ...refusal };
	for (const [twinOf, id] of own) admission.twins.set(twinOf, id);
	for (const [, record] of fresh) admission.fresh.push(record);
	if (key !== null) admission.taken.add(answerKey(key));
	return { accept: { ids, deduplicated }, key };
}
