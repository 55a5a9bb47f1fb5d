import {
	type ClaimedRecord,
	claimRecords,
	countNacks,
	type Db,
	expireRecords,
	handOver,
	type Settlement,
	settleLate,
	settleRecords,
	sweepLeases,
} from '@tidings/db';
import { type ActContext, cancelMessage, releaseMessage, retryMessage } from '@tidings/message-api';
import { newId } from '@tidings/model';
import { type Sender, settlementOf } from '../harness/records.js';

/** One record under test, and the claim that a worker still holds or once held. */
export type Subject = { readonly id: string; readonly sender: Sender; readonly claim: ClaimedRecord | null };

/** Somebody who acts on a record. Answers whether it won, which is one move of the record. */
export type Actor = (db: Db, subject: Subject) => Promise<boolean>;

const context = (db: Db): ActContext => ({ db, actor: 'tester', traceId: '0'.repeat(32) });

const settle =
	(to: Settlement['to']): Actor =>
	async (db, { claim }) => {
		if (claim === null) return false;
		const settlement = settlementOf(claim, to, to === 'RETRY' ? { delaySeconds: 60 } : {});
		const settled = await settleRecords(db.pool, [settlement]);
		return settled.length === 1 || (await settleLate(db.pool, [settlement])).length === 1;
	};

/** Everybody who moves a record. */
export const ACTORS: Readonly<Record<string, Actor>> = {
	worker: async (db, { id, sender }) => {
		const { claimed, expired } = await claimRecords(db.pool, [{ recordId: id, tenantId: sender.tenantId, configId: sender.configId }], {
			channel: 'MAIL',
			route: 'mail-send',
			leaseSeconds: 120,
			worker: 'second',
			claim: newId(),
		});
		return claimed.length + expired.length === 1;
	},
	success: settle('SENT'),
	failure: settle('RETRY'),
	poison: async (db, { id, sender }) => {
		await db.pool.query('update outbox_entry set nacks = 4 where id = $1', [id]);
		const message = {
			recordId: id,
			tenantId: sender.tenantId,
			topic: 'mail-send-normal',
			messageId: newId(),
			envelope: '{}',
			error: 'bug',
		};
		return (await countNacks(db.pool, [message])).includes(id);
	},
	sweeper: async (db, { id }) => (await sweepLeases(db.pool, 1_000)).some((one) => one.id === id),
	expiry: async (db, { id }) => (await expireRecords(db.pool, 1_000)).some((one) => one.id === id),
	cancel: async (db, { id, sender }) => (await cancelMessage(context(db), sender.tenantId, id)).kind === 'done',
	retry: async (db, { id, sender }) => (await retryMessage(context(db), sender.tenantId, id)).kind === 'done',
	release: async (db, { id, sender }) => (await releaseMessage(context(db), sender.tenantId, id, { resolution: 'resend' })).kind === 'done',
};

/** The mark before the content is handed over: it moves nothing, but it decides who may send. */
export async function mark(db: Db, { claim }: Subject): Promise<boolean> {
	return claim === null ? false : await handOver(db.pool, claim);
}
