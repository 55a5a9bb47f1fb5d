import { countWaiting, type Db, findGates, type GateError } from '@tidings/db';
import type { RateWindows } from '@tidings/limits';
import type { Caller } from '@tidings/runtime';
import type { StoredServer } from './create-server.js';
import { showGate } from './gate-shape.js';

/** Where the rate windows can be read; null: nowhere. */
export type ReadWindows = Pick<RateWindows, 'read'> | null;

/** Reads how a mail server stands, as `caller` may see it. `platform`: it is the platform's own, through which every tenant sends. */
export async function readServerState(
	db: Db,
	windows: ReadWindows,
	{ server, platform, caller }: { server: StoredServer; platform: boolean; caller: Caller },
): Promise<object> {
	const { id, tenantId, createdAt } = server;
	const [gates, waiting, uses] = await Promise.all([
		findGates(db.pool, tenantId, [id]),
		countWaiting(db.pool, id, platform ? null : tenantId),
		usesOf(windows, server),
	]);
	const gate = gates.get(id);
	const lastError = gate?.lastError == null ? null : await showError(db, gate.lastError, caller.tenant.id);
	return { gate: showGate(gate, createdAt, caller), windows: uses, waiting, lastError };
}

async function usesOf(windows: ReadWindows, { id, tenantId, ratePerMinute, dailyLimit }: StoredServer): Promise<object[] | null> {
	try {
		const uses = await windows?.read({ channel: 'MAIL', tenantId, configId: id, perMinute: ratePerMinute, perDay: dailyLimit });
		return (
			uses?.map(({ window, resetsAt, ...counts }) => ({
				window: window === 'min' ? 'minute' : 'day',
				...counts,
				resetsAt: resetsAt.toISOString(),
			})) ?? null
		);
	} catch {
		// Redis is away: the rest of the state is known all the same.
		return null;
	}
}

/** Names the message only to its own tenant: many tenants send through the platform's servers. */
async function showError({ prisma }: Db, { recordId, ...error }: GateError, tenantId: string): Promise<object> {
	const own = recordId === null ? null : await prisma.sendRecord.findFirst({ where: { id: recordId, tenantId }, select: { id: true } });
	return { ...error, messageId: own?.id ?? null };
}
