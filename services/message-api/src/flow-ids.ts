import { type Db, ensureFlows, type NewRecord } from '@tidings/db';

/** A record to be accepted; its flow is filled in before. */
export type PendingRecord = NewRecord & { flowId: string };

/** Flows remembered; their ids never change. */
const REMEMBER = 100_000;

/** Makes what gives every record its flow. Flows that are new are made first, outside the accepting transaction: they are hints, not facts. */
export function createFillFlows(pool: Db['pool']): (records: readonly PendingRecord[]) => Promise<void> {
	const known = new Map<string, string>();
	return async (records) => {
		const missing = new Map<string, PendingRecord[]>();
		for (const record of records) {
			const key = flowOf(record);
			const id = known.get(key);
			const waiting = missing.get(key);
			if (id !== undefined) record.flowId = id;
			else if (waiting !== undefined) waiting.push(record);
			else missing.set(key, [record]);
		}
		if (missing.size === 0) return;
		const wanted = [...missing.values()].flatMap(([first]) => (first === undefined ? [] : keyOf(first)));
		const ids = await ensureFlows(pool, wanted);
		if (known.size + missing.size > REMEMBER) known.clear();
		for (const [index, [key, waiting]] of [...missing].entries()) {
			const id = ids[index];
			if (id === undefined) throw new Error('a flow that was made has no id');
			known.set(key, id);
			for (const record of waiting) record.flowId = id;
		}
	};
}

function flowOf({ tenantId, configId, lane, route }: NewRecord): string {
	return `${tenantId} ${configId} ${lane} ${route}`;
}

function keyOf({ tenantId, configId, lane, route }: NewRecord): Parameters<typeof ensureFlows>[1][number] {
	return { tenantId, gate: configId, lane, route };
}
