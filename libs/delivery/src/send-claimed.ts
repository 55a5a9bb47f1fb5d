import { type ClaimedRecord, handOver } from '@tidings/db';
import type { Room } from '@tidings/limits';
import { monotonic, type Outcome, type Refusal, random } from '@tidings/model';
import { channelLabel, messagingAttributes, type Span } from '@tidings/telemetry';
import type { Claimed } from './claim-waiting.js';
import type { DeliveryContext } from './context.js';
import type { Ended } from './ended.js';
import { type GateVerdict, gateVerdict } from './gate-verdict.js';
import { giveRoomBack, usedNoRoom } from './give-room-back.js';
import { giveUp } from './give-up.js';
import { judge } from './judge.js';
import type { HeldMessage } from './message.js';
import { outcomeLabel } from './outcome-label.js';
import { isPassing } from './persist.js';
import { policyFor } from './policy-for.js';
import type { Send } from './provider.js';
import { traceCall } from './trace-call.js';

/** A claimed record on its way, and the room that was taken for it. `onDepart`: called when the provider is about to be asked. */
export type Flight = Claimed & { readonly room: Room; readonly onDepart: () => void };

/** Sends one claimed record and judges the answer. Null: there is nothing to settle, for somebody else owns the record now or nobody knows what broke. */
export async function sendClaimed(context: DeliveryContext, one: Flight): Promise<Ended | null> {
	const { message, record, claimedAt, room } = one;
	const { configId } = record;
	const { provider, metrics } = context;
	let began = monotonic();
	let asked = false;
	let outcome: Outcome;
	try {
		// failpoint: claimed
		const send = await context.persist(() => provider.prepare(record));
		began = monotonic();
		// With too little of the lease left another could send it, too, before this one has ended.
		const isLate = began - claimedAt > 1000 * (context.leaseSeconds - context.deadlineSeconds);
		asked = !isLate;
		outcome = isLate ? { kind: 'given-back' } : await sendOpen(context, one, send);
		// failpoint: sent
	} catch (error) {
		// From here the lease and the budget count: the sweeper takes the record when the lease has run out.
		await giveRoomBack(context, [{ configId, room: asked ? [] : room }]);
		await giveUp(context, [message], error);
		return null;
	}
	if (outcome.kind !== 'given-back') {
		metrics.providerDurationSeconds.observe(
			{ channel: channelLabel(provider.channel), provider: provider.name, outcome: outcomeLabel(outcome) },
			(monotonic() - began) / 1000,
		);
	}
	if (outcome.kind === 'withheld') {
		metrics.transitionsLostTotal.inc({ from: 'SENDING', by: 'worker' });
		message.ack();
		await giveRoomBack(context, [{ configId, room }]);
		return null;
	}
	const policy = await policyFor(context, record, outcome);
	const judging = { policy, provider: provider.name, worker: context.worker, random: random() };
	// What is gone has no gate: each of its messages ends by itself.
	const verdict: GateVerdict = record.configVersion === 0 ? { kind: 'nothing' } : gateVerdict(outcome, gateFloorOf(context, record));
	return {
		record,
		message,
		settlement: judge(record, outcome, judging),
		settling: startSettle(context, message),
		verdict,
		refusal: verdict.kind === 'alive' ? null : refusalOf(outcome),
		unused: { configId, room: usedNoRoom(outcome) ? room : [] },
	};
}

/** How long a gate is closed for a spent allowance at least, in seconds. A gate is for all who go through it: so no tenant's own policy counts, nor one of the operator's beyond reason. */
const GATE_FLOOR = { least: 60, most: 3_600 };

function gateFloorOf({ policyOf }: DeliveryContext, { type }: ClaimedRecord): number {
	return Math.min(GATE_FLOOR.most, Math.max(GATE_FLOOR.least, policyOf(type).quotaFloorSeconds));
}

/** What the provider has said against it, if anything. */
function refusalOf(outcome: Outcome): Refusal | null {
	if (outcome.kind === 'ambiguous') return outcome;
	if (outcome.kind !== 'answered') return null;
	return outcome.recipients.find((one) => one.kind === 'refused') ?? null;
}

/** The step from the provider's answer until all is written down and the message is acked. */
function startSettle({ messagingSystem: system }: DeliveryContext, { span, topic, messageId, recordId, tenantId }: HeldMessage): Span {
	const attributes = messagingAttributes({ system, operation: 'settle', topic, messageId, recordId, tenantId });
	return span.child(`settle ${topic}`, { kind: 'client', attributes });
}

async function sendOpen(context: DeliveryContext, { message, record, onDepart }: Flight, send: Send): Promise<Outcome> {
	if (!record.recipients.some((one) => one.outcome === 'OPEN')) return { kind: 'answered', recipients: [], providerMessageId: null };
	if (context.cut.aborted) return { kind: 'given-back' };
	onDepart();
	return await traceCall(context, message, (span) =>
		untilLast(
			send(() => mark(context, record), context.cut, span),
			context.last,
		),
	);
}

/** Makes the hand-over mark. Rejects when the database is away; what it refuses in an unknown way would be refused again at once, so that its lease is left to count. */
async function mark({ db, log }: DeliveryContext, record: ClaimedRecord): Promise<boolean> {
	try {
		return await handOver(db.pool, record);
	} catch (error) {
		if (isPassing(error)) throw error;
		log.error({ err: error, recordId: record.id }, 'the hand-over could not be marked; nothing is sent before the lease is over');
		return false;
	}
}

/** What is settled when the process cannot wait any longer: everything was handed over, or else the cut would have ended it. */
const UNANSWERED: Outcome = {
	kind: 'ambiguous',
	category: 'UNKNOWN',
	stage: 'DOT',
	code: null,
	enhancedCode: null,
	text: 'The sender had to stop before the server answered.',
};

function untilLast(sending: Promise<Outcome>, last: AbortSignal): Promise<Outcome> {
	return new Promise((resolve, reject) => {
		const stop = (): void => resolve(UNANSWERED);
		last.addEventListener('abort', stop, { once: true });
		sending.then(resolve, reject).finally(() => last.removeEventListener('abort', stop));
	});
}
