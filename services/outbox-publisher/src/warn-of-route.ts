import { monotonic } from '@tidings/model';
import type { Logger } from '@tidings/telemetry';

/** Says that due entries of a route wait because it cannot be published to. */
export type WarnOfRoute = (route: string, reason: string) => void;

const EVERY_MS = 5 * 60_000;

/** Makes a warner that names each route at most once in five minutes, so that an outage leaves evidence but no flood. */
export function createWarnOfRoute(log: Logger, clock: () => number = monotonic): WarnOfRoute {
	const saidAt = new Map<string, number>();
	return (route, reason) => {
		const last = saidAt.get(route);
		if (last !== undefined && clock() - last < EVERY_MS) return;
		saidAt.set(route, clock());
		log.warn({ route, reason }, 'due outbox entries wait: their route cannot be published to');
	};
}
