import { type ClaimedRecord, handOver } from '@tidings/db';
import { monotonic, type Outcome, random } from '@tidings/model';
import { channelLabel } from '@tidings/telemetry';
import type { Claimed } from './claim-waiting.js';
import { type DeliveryContext, giveUp } from './context.js';
import { judge } from './judge.js';
import type { Send } from './provider.js';
import type { Ended } from './settle-ended.js';

/** Sends one claimed record and judges the answer. Null: there is nothing to settle, for somebody else owns the record now or nobody knows what broke. */
export async function sendClaimed(context: DeliveryContext, { message, record, claimedAt }: Claimed): Promise<Ended | null> {
	const { provider, metrics } = context;
	let began = monotonic();
	let outcome: Outcome;
	try {
		const send = await context.persist(() => provider.prepare(record));
		began = monotonic();
		if (began - claimedAt > 1000 * (context.leaseSeconds - context.deadlineSeconds))
			throw new Error('too little of the lease is left to send');
		outcome = await sendOpen(context, record, send);
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

async function sendOpen({ db }: DeliveryContext, record: ClaimedRecord, send: Send): Promise<Outcome> {
	if (!record.recipients.some((one) => one.outcome === 'OPEN')) return { kind: 'answered', recipients: [], providerMessageId: null };
	return await send(() => handOver(db.pool, record));
}

function labelOf(outcome: Outcome): 'accepted' | 'refused' | 'ambiguous' | 'withheld' {
	if (outcome.kind !== 'answered') return outcome.kind;
	return outcome.recipients.some((one) => one.kind === 'refused') ? 'refused' : 'accepted';
}
