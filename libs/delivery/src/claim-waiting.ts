import { type ClaimAnswer, type Claimant, type ClaimedRecord, claimRecords } from '@tidings/db';
import { monotonic, newId } from '@tidings/model';
import { channelLabel } from '@tidings/telemetry';
import type { DeliveryContext } from './context.js';
import { giveUp } from './give-up.js';
import { dismiss, wakeAll } from './hand-back-messages.js';
import type { LinedMessage } from './message.js';
import { isPassing } from './persist.js';

/** A message and the record that it got hold of. */
export type Claimed = {
	readonly message: LinedMessage;
	readonly record: ClaimedRecord /** Of the monotonic clock. */;
	readonly claimedAt: number;
};

/**
 * Claims the records of these messages in one statement. A message that claims nothing is stale and is acknowledged; so is the second of two for one record, and what its gate does not let
 * through: the claim has handed that back.
 * When the answer to a claim is lost with its connection, the repeated statement finds what the first one got. Messages whose claim fails in an unknown way
 * are parted by halves, so that one of them does not hold back two hundred, nor count against them.
 */
export async function claimWaiting(context: DeliveryContext, messages: readonly LinedMessage[]): Promise<Claimed[]> {
	const { provider, log, metrics, route } = context;
	const claimant = { channel: provider.channel, route, leaseSeconds: context.leaseSeconds, worker: context.worker, claim: newId() };
	let answer: Answer;
	try {
		// failpoint: received
		answer = await claimAll(context, messages, claimant);
	} catch (error) {
		if (messages.length > 1 && !isPassing(error)) {
			const half = messages.length >> 1;
			return [...(await claimWaiting(context, messages.slice(0, half))), ...(await claimWaiting(context, messages.slice(half)))];
		}
		await giveUp(context, messages, error);
		return [];
	}
	const channel = channelLabel(provider.channel);
	if (answer.expired.length > 0) log.info({ records: answer.expired.length }, 'records came too late and are EXPIRED');
	for (const { attemptNo, lettered } of answer.expired) {
		metrics.attemptsPerRecord.observe({ channel, outcome: 'expired' }, attemptNo);
		if (lettered) metrics.deadLettersTotal.inc({ source: 'EXPIRED', channel });
	}
	metrics.claimDurationSeconds.observe({ channel }, (monotonic() - answer.claimedAt) / 1000);
	await wakeAll(
		context,
		answer.handedBack.map((one) => one.flowId),
	);
	return partStale(context, messages, answer);
}

type Answer = ClaimAnswer & { readonly claimedAt: number };

async function claimAll({ db, persist }: DeliveryContext, messages: readonly LinedMessage[], claimant: Claimant): Promise<Answer> {
	return await persist(async () => {
		// Anew at each try: the lease begins when the database answers, not when it went away.
		const claimedAt = monotonic();
		return { ...(await claimRecords(db.pool, messages, claimant)), claimedAt };
	});
}

function partStale(context: DeliveryContext, messages: readonly LinedMessage[], { claimed, claimedAt }: Answer): Claimed[] {
	const records = new Map(claimed.map((record) => [record.id, record]));
	const mine: Claimed[] = [];
	for (const message of messages) {
		const record = records.get(message.recordId);
		records.delete(message.recordId);
		if (record === undefined) dismiss(context, message);
		else {
			message.span.set({ 'tidings.attempt.no': record.attemptNo });
			// A retry is published under the step that accepted the record, as the first try was: the link says that it is no second branch of it.
			if (record.attemptNo > 1) message.span.link(record.traceparent);
			mine.push({ message, record, claimedAt });
		}
	}
	return mine;
}
