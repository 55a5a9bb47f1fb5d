import type { NewRecord, QuotaRefusal } from './accepting.js';
import { costOf, type QuotaCost } from './quota-costs.js';
import type { Room } from './statements/lock-quota.js';

/** What is left of the buckets that a transaction holds. */
export type Rooms = {
	/** Takes what one caller's new records cost; null: there was room for all of them. Else nothing is taken. `records` are those to be counted, each with its place in the request. */
	take(records: readonly (readonly [index: number, record: NewRecord])[]): QuotaRefusal | null;
};

/** Gives the room in buckets away to whoever comes first. `rooms` stand in the order of `costs`, which name every bucket that will be asked for. */
export function createRooms(costs: readonly QuotaCost[], rooms: readonly Room[]): Rooms {
	const known = new Map(costs.flatMap((one, n) => (rooms[n] === undefined ? [] : [[keyOf(one), rooms[n]] as const])));
	return {
		take: (records) => {
			const wanted = new Map<Room, { cost: number; first: { index: number; record: NewRecord } | null }>();
			for (const [index, record] of records) {
				const { channel, cost } = costOf(record);
				const room = known.get(keyOf({ ...record, channel }));
				if (room === undefined) throw new Error('a bucket is taken from that was not asked for');
				const sum = wanted.get(room) ?? { cost: 0, first: null };
				sum.cost += cost;
				if (room.cap !== null && room.used + sum.cost > room.cap) sum.first ??= { index, record };
				wanted.set(room, sum);
			}
			for (const [{ month, cap, used }, { cost, first }] of wanted) {
				if (first === null || cap === null) continue;
				const { channel } = costOf(first.record);
				return { channel, scope: first.record.scope, month, used, cap, cost, index: first.index };
			}
			for (const [room, { cost }] of wanted) room.used += cost;
			return null;
		},
	};
}

function keyOf({ scope, channel, tenantId }: Pick<QuotaCost, 'scope' | 'channel' | 'tenantId'>): string {
	return `${scope} ${channel} ${tenantId}`;
}
