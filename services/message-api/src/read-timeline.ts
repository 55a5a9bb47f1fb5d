import type { Db } from '@tidings/db';

/** One thing that happened to a message; what does not concern its kind is null. */
export type TimelineEntry = {
	readonly at: string;
	readonly event: 'accepted' | 'published' | 'claimed' | 'attempt' | 'settled' | 'acted';
	readonly attemptNo: number | null;
	readonly status: string | null;
	readonly outcome: string | null;
	readonly worker: string | null;
	readonly actor: string | null;
	readonly action: string | null;
	readonly note: string | null;
};

/** Acts that are shown at most, the newest: a program may have a message sent again without end. The audit lists all. */
const MOST_ACTS = 1_000;

const ORDER: readonly TimelineEntry['event'][] = ['accepted', 'published', 'claimed', 'attempt', 'acted', 'settled'];

/** Gathers what happened to a message of a tenant, in order of time; null when there is no such message. */
export async function readTimeline({ prisma }: Db, tenantId: string, id: string): Promise<TimelineEntry[] | null> {
	const where = { id, tenantId };
	const [record, state, entry, attempts, acts] = await Promise.all([
		prisma.sendRecord.findFirst({ where, select: { createdAt: true } }),
		prisma.sendState.findFirst({ where }),
		prisma.outboxEntry.findFirst({ where, select: { publishedAt: true } }),
		prisma.deliveryAttempt.findMany({ where }),
		// Of the message and of its outbox entry, which has the same id.
		prisma.auditEvent.findMany({ where: { tenantId, subjectId: id }, orderBy: { id: 'desc' }, take: MOST_ACTS }),
	]);
	if (record === null) return null;
	const timeline = [entryOf(record.createdAt, 'accepted')];
	if (entry?.publishedAt != null) timeline.push(entryOf(entry.publishedAt, 'published'));
	for (const attempt of attempts) {
		const { attemptNo, worker, outcome, publishedAt, startedAt } = attempt;
		// A sender may have it before the publisher has noted that it was published.
		if (publishedAt !== null)
			timeline.push(entryOf(new Date(Math.min(Number(publishedAt), Number(startedAt))), 'published', { attemptNo }));
		timeline.push(entryOf(startedAt, 'claimed', { attemptNo, worker }), entryOf(attempt.finishedAt, 'attempt', { attemptNo, outcome }));
	}
	if (state?.claimedAt != null)
		timeline.push(entryOf(state.claimedAt, 'claimed', { attemptNo: state.attemptNo, worker: state.claimedBy?.split(' ', 1)[0] ?? null }));
	if (state?.finishedAt != null) timeline.push(entryOf(state.finishedAt, 'settled', { status: state.status }));
	for (const act of acts) timeline.push(entryOf(act.at, 'acted', { actor: act.actor, action: act.action, note: noteOf(act.detail) }));
	return timeline.sort((a, b) => a.at.localeCompare(b.at) || ORDER.indexOf(a.event) - ORDER.indexOf(b.event));
}

function entryOf(at: Date, event: TimelineEntry['event'], more: Partial<TimelineEntry> = {}): TimelineEntry {
	return {
		at: at.toISOString(),
		event,
		attemptNo: null,
		status: null,
		outcome: null,
		worker: null,
		actor: null,
		action: null,
		note: null,
		...more,
	};
}

function noteOf(detail: unknown): string | null {
	const note = typeof detail === 'object' && detail !== null && 'note' in detail ? detail.note : null;
	return typeof note === 'string' ? note : null;
}
