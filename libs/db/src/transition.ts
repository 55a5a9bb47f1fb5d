import {
	type DeadLetterAct,
	type DeadLetterStatus,
	deadLetterMachine,
	FINISHED_STATUSES,
	isLegal,
	type Machine,
	movesOf,
	OPEN_STATUSES,
	type OutboxAct,
	type OutboxStatus,
	outboxMachine,
	type ReplayAct,
	type ReplayStatus,
	replayMachine,
	type SendAct,
	type SendStatus,
	sendRecordMachine,
	type TenantAct,
	type TenantStatus,
	tenantMachine,
} from '@tidings/model';
import type { PrismaClient } from './generated/client.js';

/*
 * The only writer of a status column. A statement embeds what is built here; a single row is moved by `transition`.
 * Both take their legal pairs from the state tables in @tidings/model, and both write the columns that are tied to a status in the same breath.
 */

/** A move as a batch statement embeds it: `where …guard…` and `set …set…`. */
export type MoveSql = { readonly guard: string; readonly set: string };

/** SQL expressions for what a move writes besides the status; each defaults to what the column's meaning asks for. */
export type RecordMoveSql = {
	/** Alias of the send_state row. */
	readonly row: string;
	/** Target: a status, or an SQL expression that yields one. */
	readonly to: SendStatus | { readonly sql: string };
	/** When the record is due again; default `now()`. */
	readonly due?: string;
	/** End of the lease and who holds it; needed by a claim. */
	readonly lease?: string;
	readonly worker?: string;
};

type Tied = {
	readonly column: string;
	readonly prisma: string;
	readonly when: readonly SendStatus[];
	readonly set: (move: RecordMoveSql) => string;
};

/** Columns that exist exactly in some states (the CHECKs of send_state say the same). */
const TIED: readonly Tied[] = [
	{ column: 'due_at', prisma: 'dueAt', when: OPEN_STATUSES, set: (move) => move.due ?? 'now()' },
	{ column: 'lease_until', prisma: 'leaseUntil', when: ['SENDING'], set: (move) => move.lease ?? 'null::timestamptz' },
	{ column: 'claimed_at', prisma: 'claimedAt', when: ['SENDING'], set: () => 'now()' },
	{ column: 'claimed_by', prisma: 'claimedBy', when: ['SENDING'], set: (move) => move.worker ?? 'null::text' },
	{ column: 'handed_over_at', prisma: 'handedOverAt', when: ['HELD'], set: (move) => `${move.row}.handed_over_at` },
	{ column: 'sent_at', prisma: 'sentAt', when: ['SENT', 'BOUNCED'], set: (move) => `coalesce(${move.row}.sent_at, now())` },
	{ column: 'finished_at', prisma: 'finishedAt', when: FINISHED_STATUSES, set: () => 'now()' },
];

const list = (values: readonly string[]): string => values.map((value) => `'${value}'`).join(', ');

/** `status || ''` keeps the planner from walking a partial index beside `id = any(…)`: measured three times as fast. */
const current = (row: string): string => `${row}.status || ''`;

/** A move of records in a batch statement. */
export function moveRecords(act: SendAct, move: RecordMoveSql): MoveSql {
	const to = typeof move.to === 'string' ? `'${move.to}'` : move.to.sql;
	const tied = TIED.map(({ column, when, set }) => {
		if (typeof move.to === 'string') return `${column} = ${when.includes(move.to) ? set(move) : 'null'}`;
		return `${column} = case when ${to} in (${list(when)}) then ${set(move)} end`;
	});
	return {
		guard: guard(sendRecordMachine, act, current(move.row), to, typeof move.to === 'string' ? move.to : null),
		set: [`status = ${to}`, `version = ${move.row}.version + 1`, ...tied].join(', '),
	};
}

/** Where a move of records may start, before its target is known: `status in (…)`. */
export function recordsAt(act: SendAct, row: string): string {
	return `${current(row)} in (${list([...new Set(movesOf(sendRecordMachine, act).map((move) => move.from))])})`;
}

/** A move of outbox entries in a batch statement. `lease` is needed by `take` and `mark`. */
export function moveEntries(act: OutboxAct, move: { row: string; to: OutboxStatus; lease?: string }): MoveSql {
	const out = move.to === 'PUBLISHING' || move.to === 'PUBLISHED';
	return {
		guard: guard(outboxMachine, act, current(move.row), `'${move.to}'`, move.to),
		set: [
			`status = '${move.to}'`,
			`taken = ${move.to === 'DEAD' ? 'null' : String(out)}`,
			`lease_until = ${out ? (move.lease ?? 'null') : 'null'}`,
			`published_at = ${move.to === 'PUBLISHED' ? 'now()' : 'null'}`,
		].join(', '),
	};
}

/** A move of dead letters in a batch statement. They are found by their record, for which there is only the index of open ones: so the status stands there plainly. */
export function moveLetters(act: DeadLetterAct, move: { row: string; to: DeadLetterStatus }): MoveSql {
	const status = `${move.row}.status`;
	return { guard: guard(deadLetterMachine, act, status, `'${move.to}'`, move.to), set: `status = '${move.to}', closed_at = now()` };
}

/** A move of a replay of dead letters; each of them ends it. */
export function moveReplays(act: ReplayAct, move: { row: string; to: ReplayStatus }): MoveSql {
	return {
		guard: guard(replayMachine, act, `${move.row}.status`, `'${move.to}'`, move.to),
		set: `status = '${move.to}', finished_at = now()`,
	};
}

/** A move of a tenant. `queued`: what becomes of what waits, needed by `delete`; default `'deliver'`. */
export function moveTenants(act: TenantAct, move: { row: string; to: TenantStatus; queued?: string }): MoveSql {
	return {
		guard: guard(tenantMachine, act, `${move.row}.status`, `'${move.to}'`, move.to),
		set: [
			`status = '${move.to}'`,
			`version = ${move.row}.version + 1`,
			'updated_at = now()',
			'moved_at = now()',
			`queued = ${move.to === 'DELETING' ? (move.queued ?? "'deliver'") : 'null'}`,
			'erasing_at = null',
		].join(', '),
	};
}

function guard<S extends string, A extends string>(machine: Machine<S, A>, act: A, status: string, to: string, fixed: S | null): string {
	const moves = movesOf(machine, act);
	if (fixed === null) return `(${status}, ${to}) in (${moves.map((move) => `('${move.from}', '${move.to}')`).join(', ')})`;
	const from = moves.filter((move) => move.to === fixed).map((move) => move.from);
	if (from.length === 0) throw new Error(`${machine.name}: ${act} never leads to ${fixed}`);
	return `${status} in (${list(from)})`;
}

/** A record as it was read: what a compare-and-swap compares with. */
export type RecordRow = { readonly id: string; readonly tenantId: string; readonly status: SendStatus; readonly version: number };

/** What a one-row move writes besides the status. `now` is the database's. */
export type RecordChange = {
	readonly now: Date;
	readonly budgetMax?: number;
	readonly notAfter?: Date;
	readonly reason?: string | null;
	readonly partial?: boolean;
	readonly sentAt?: Date;
};

/**
 * Moves one record by compare-and-swap on (id, tenant, status, version). False: somebody else was quicker, and nothing was written.
 * Throws when the state table has no such move: that is a bug of the caller.
 */
export async function transition(
	prisma: Pick<PrismaClient, 'sendState'>,
	act: SendAct,
	row: RecordRow,
	to: SendStatus,
	change: RecordChange,
): Promise<boolean> {
	if (!isLegal(sendRecordMachine, act, row.status, to)) throw new Error(`send_state: ${act} does not lead from ${row.status} to ${to}`);
	const { now, ...rest } = change;
	const clear = Object.fromEntries(TIED.filter((tied) => !tied.when.includes(to)).map((tied) => [tied.prisma, null]));
	const set = {
		...(includes(OPEN_STATUSES, to) ? { dueAt: now } : {}),
		...(includes(FINISHED_STATUSES, to) ? { finishedAt: now } : {}),
		...(to === 'SENT' || to === 'BOUNCED' ? { sentAt: now } : {}),
	};
	const { count } = await prisma.sendState.updateMany({
		where: { id: row.id, tenantId: row.tenantId, status: row.status, version: row.version },
		data: { ...clear, ...set, ...rest, status: to, version: { increment: 1 } },
	});
	return count === 1;
}

function includes(statuses: readonly SendStatus[], status: SendStatus): boolean {
	return statuses.includes(status);
}
