import { countWaiting, type Db, findGate, type GateError } from '@tidings/db';
import type { RateWindows } from '@tidings/limits';
import type { StoredServer } from './create-server.js';
import { showGate } from './gate-shape.js';

/** Where the rate windows can be read; null: nowhere. */
export type ReadWindows = Pick<RateWindows, 'read'> | null;

/** Reads how a mail server stands. `platform`: it is the platform's own, through which every tenant sends. */
export async function readServerState(
	db: Db,
	windows: ReadWindows,
	{ server, platform }: { server: StoredServer; platform: boolean },
): Promise<object> {
	const { id, tenantId, createdAt } = server;
	const [gate, waiting, uses] = await Promise.all([
		findGate(db.pool, { id, tenantId }),
		countWaiting(db.pool, id, platform ? null : tenantId),
		usesOf(windows, server),
	]);
	return { gate: showGate(gate, createdAt), windows: uses, waiting, lastError: gate?.lastError == null ? null : showError(gate.lastError) };
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

function showError({ recordId, ...error }: GateError): object {
	return { ...error, messageId: recordId };
}
