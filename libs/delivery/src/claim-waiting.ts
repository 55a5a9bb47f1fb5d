import { type ClaimedRecord, claimRecords } from '@tidings/db';
import { monotonic } from '@tidings/model';
import { channelLabel } from '@tidings/telemetry';
import { type DeliveryContext, giveUp } from './context.js';
import type { DeliveryMessage } from './message.js';

/** A message and the record that it got hold of. */
export type Claimed = {
	readonly message: DeliveryMessage;
	readonly record: ClaimedRecord /** Of the monotonic clock. */;
	readonly claimedAt: number;
};

/** Claims the records of these messages in one statement. A message that claims nothing is stale and is acknowledged; so is the second of two for one record. */
export async function claimWaiting(context: DeliveryContext, messages: readonly DeliveryMessage[]): Promise<Claimed[]> {
	const { db, provider, log, metrics, route } = context;
	let claimedAt = monotonic();
	let records: Map<string, ClaimedRecord>;
	try {
		const claimant = { channel: provider.channel, leaseSeconds: context.leaseSeconds, worker: context.worker };
		const { claimed, expired } = await context.persist(() => {
			// Anew at each try: the lease begins when the database answers, not when it went away.
			claimedAt = monotonic();
			return claimRecords(db.pool, messages, claimant);
		});
		records = new Map(claimed.map((record) => [record.id, record]));
		if (expired > 0) log.info({ records: expired }, 'records came too late and are EXPIRED');
	} catch (error) {
		giveUp(context, messages, error);
		return [];
	}
	metrics.claimDurationSeconds.observe({ channel: channelLabel(provider.channel) }, (monotonic() - claimedAt) / 1000);
	const claimed: Claimed[] = [];
	for (const message of messages) {
		const record = records.get(message.recordId);
		records.delete(message.recordId);
		if (record === undefined) {
			metrics.messagesConsumedTotal.inc({ route, lane: message.lane, result: 'stale' });
			message.ack();
		} else claimed.push({ message, record, claimedAt });
	}
	return claimed;
}
