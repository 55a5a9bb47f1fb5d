import type { NewRecord, QuotaRefusal } from './accepting.js';
import { costOf, type QuotaCost } from './quota-costs.js';
import type { Room } from './statements/lock-quota.js';
import type { CappedBucket } from './statements/warn-quota.js';

/** What is left of the buckets that a transaction holds. */
export type Rooms = {
	/** Takes what one caller's new records cost; null: there was room for all of them. Else nothing is taken. `records` are those to be counted, each with its place in the request. */
	take(records: readonly (readonly [index: number, record: NewRecord])[]): QuotaRefusal | null;
	/** Buckets that refused somebody, are used up, and of which nobody was told: their caps came down to what is used. */
	untold(): CappedBucket[];
};

/** Gives the room in buckets away to whoever comes first. `rooms` stand in the order of `costs`, which name every bucket that will be asked for. */
export function createRooms(costs: readonly QuotaCost[], rooms: readonly Room[]): Rooms {
	const known = new Map(costs.flatMap((one, n) => (rooms[n] === undefined ? [] : [[keyOf(one), rooms[n]] as const])));
	const untold = new Set<Room>();
	return {
		untold: () => [...untold].flatMap(({ tenantId, channel, cap }) => (cap === null ? [] : [{ tenantId, channel, cap }])),
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
			for (const [room, { cost, first }] of wanted) {
				const { month, cap, used } = room;
				if (first === null || cap === null) continue;
				if (used >= cap && !room.told) untold.add(room);
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
