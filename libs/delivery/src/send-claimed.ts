import { handOver } from '@tidings/db';
import { monotonic, type Outcome, random } from '@tidings/model';
import { channelLabel } from '@tidings/telemetry';
import type { Claimed } from './claim-waiting.js';
import { type DeliveryContext, giveUp } from './context.js';
import { judge } from './judge.js';
import type { Ended } from './settle-ended.js';

/** Sends one claimed record and judges the answer. Null: there is nothing to settle, for somebody else owns the record now or nobody knows what broke. */
export async function sendClaimed(context: DeliveryContext, { message, record, claimedAt }: Claimed): Promise<Ended | null> {
	const { db, provider, metrics } = context;
	const began = monotonic();
	let outcome: Outcome;
	try {
		outcome = record.recipients.some((one) => one.outcome === 'OPEN')
			? await provider.send(record, () => handOver(db.pool, record))
			: { kind: 'answered', recipients: [], providerMessageId: null };
	} catch (error) {
		// From here the lease and the budget count: the sweeper takes the record when the lease has run out.
		giveUp(context, [message], error);
		return null;
	}
	metrics.providerDurationSeconds.observe(
		{ channel: channelLabel(provider.channel), provider: provider.name, outcome: labelOf(outcome) },
		(monotonic() - began) / 1000,
	);
	if (outcome.kind === 'withheld') {
		metrics.transitionsLostTotal.inc({ from: 'SENDING', by: 'worker' });
		message.ack();
		return null;
	}
	const judging = { policy: context.policyOf(record.type), provider: provider.name, worker: context.worker, random: random() };
	return { record, message, settlement: judge(record, outcome, judging), claimedAt };
}

function labelOf(outcome: Outcome): 'accepted' | 'refused' | 'ambiguous' | 'withheld' {
	if (outcome.kind !== 'answered') return outcome.kind;
	return outcome.recipients.some((one) => one.kind === 'refused') ? 'refused' : 'accepted';
}
