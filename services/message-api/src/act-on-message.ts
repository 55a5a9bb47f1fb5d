import { type Db, DEFAULT_AGE_SECONDS, type PrismaTx, queryableOf, type RecordChange, transition, troubleOf } from '@tidings/db';
import { newId, type SendAct, type SendStatus } from '@tidings/model';
import { holdSendingTenant } from './hold-sending-tenant.js';
import { wakeNow } from './wake-now.js';

/** Who acts, and with what. */
export type ActContext = {
	readonly db: Db /** A key id or a user, as the audit shows it. */;
	readonly actor: string;
	readonly traceId: string;
};

/** How a person's act on a message ended. `conflict`: its state does not allow the act, or another act was quicker. */
export type ActResult =
	| { readonly kind: 'done'; readonly status: SendStatus; readonly mayHaveBeenSent?: boolean }
	| { readonly kind: 'not-found' }
	| { readonly kind: 'conflict'; readonly status: SendStatus }
	| { readonly kind: 'refused'; readonly detail: string };

/** A record as an act sees it, read in the act's own transaction. */
export type ActedRecord = {
	readonly id: string;
	readonly tenantId: string;
	readonly status: SendStatus;
	readonly version: number;
	readonly attemptNo: number;
	readonly budgetUsed: number;
	readonly budgetMax: number;
	readonly ambiguous: boolean;
	/** Recipients whose mail was accepted, and such as were refused for good. */
	readonly accepted: number;
	readonly refused: number;
	readonly validUntil: Date | null;
	/** How long a message of its tenant is tried by default. */
	readonly maxAgeSeconds: number;
	/** The database's time. */
	readonly now: Date;
};

/** What an act wants: a move and its companions in the same transaction, or a refusal. `wake` is the flow that has something new. */
export type ActPlan =
	| {
			readonly to: SendStatus;
			readonly change: Omit<RecordChange, 'now'>;
			readonly detail: Record<string, string | null>;
			also(tx: PrismaTx): Promise<{ wake?: string }>;
	  }
	| { readonly refuse: Exclude<ActResult, { kind: 'done' }> };

/**
 * Runs one act on one message: read, decide, compare-and-swap, companions and audit in one transaction; the publishers are woken after the commit.
 * What would send it again throws a `Problem` while its tenant is being deleted. When the swap is lost, the act is decided anew on what the record has become; after three losses the caller is told the state.
 */
export async function actOnMessage(
	context: ActContext,
	act: Extract<SendAct, 'retry' | 'release' | 'cancel'>,
	key: { tenantId: string; id: string },
	plan: (record: ActedRecord) => ActPlan,
): Promise<ActResult> {
	let last: SendStatus | null = null;
	for (let round = 0; round < 3; round += 1) {
		const result = await attempt(context, act, key, plan).catch((error: unknown) => {
			// A dead-lock or a failed serialization: the whole act is simply decided again.
			if (round < 2 && troubleOf(error) === 'retryable') return null;
			throw error;
		});
		if (result === null) continue;
		if (result.kind !== 'lost') return result;
		last = result.status;
	}
	return last === null ? { kind: 'not-found' } : { kind: 'conflict', status: last };
}

type Lost = { readonly kind: 'lost'; readonly status: SendStatus };

async function attempt(
	{ db, actor, traceId }: ActContext,
	act: Extract<SendAct, 'retry' | 'release' | 'cancel'>,
	key: { tenantId: string; id: string },
	plan: (record: ActedRecord) => ActPlan,
): Promise<ActResult | Lost> {
	let wake: string | undefined;
	const result = await db.prisma.$transaction(async (tx): Promise<ActResult | Lost> => {
		const record = await read(tx, key);
		if (record === null) return { kind: 'not-found' };
		const planned = plan(record);
		if ('refuse' in planned) return planned.refuse;
		if (planned.to === 'RETRY' || planned.to === 'PENDING') await holdSendingTenant(queryableOf(tx), key.tenantId);
		if (!(await transition(tx, act, record, planned.to, { ...planned.change, now: record.now })))
			return { kind: 'lost', status: record.status };
		wake = (await planned.also(tx)).wake;
		await tx.auditEvent.create({
			data: {
				id: newId(),
				tenantId: key.tenantId,
				actor,
				action: `message.${act}`,
				subjectType: 'message',
				subjectId: key.id,
				detail: { from: record.status, to: planned.to, ...planned.detail },
				traceId,
			},
		});
		return { kind: 'done', status: planned.to };
	});
	if (wake !== undefined) await wakeNow(db, [wake]);
	return result;
}

async function read(tx: PrismaTx, key: { tenantId: string; id: string }): Promise<ActedRecord | null> {
	const { rows } = await queryableOf(tx).query<Omit<ActedRecord, 'id' | 'tenantId'>>({
		text: `
			select s.status, s.version, s.attempt_no as "attemptNo", s.budget_used as "budgetUsed", s.budget_max as "budgetMax", s.ambiguous, r.valid_until as "validUntil", now() as now,
				coalesce((select (t.settings->>'maxAgeHours')::int * 3600 from tenant t where t.id = s.tenant_id), ${DEFAULT_AGE_SECONDS}) as "maxAgeSeconds",
				(select count(*) from send_recipient where id = s.id and outcome = 'ACCEPTED')::int as accepted,
				(select count(*) from send_recipient where id = s.id and outcome = 'REFUSED')::int as refused
			from send_state s join send_record r using (id) where s.id = $1::uuid and s.tenant_id = $2::uuid`,
		values: [key.id, key.tenantId],
	});
	const [row] = rows;
	return row === undefined ? null : { ...row, ...key };
}

/** The deadline after a person's act: an explicit one stays, the default one begins anew. */
export function renewedDeadline(record: ActedRecord): Date {
	return record.validUntil ?? new Date(record.now.getTime() + record.maxAgeSeconds * 1000);
}

/** Why a record cannot be sent any more although its state would allow it; null when it can. */
export function tooLate(record: ActedRecord): ActPlan | null {
	if (record.validUntil === null || record.validUntil > record.now) return null;
	return { refuse: { kind: 'refused', detail: `validUntil was ${record.validUntil.toISOString()}; send a new message with a later one.` } };
}
