import type { RequestCounter } from '@tidings/limits';
import { Problem } from '@tidings/model';
import type { AuthenticateOptions } from '@tidings/runtime';
import type { Metrics } from '@tidings/telemetry';

/** Makes the throttle: so many requests a second for each API key, or each user of a token. `perSecond` null: no limit; what the caller's own tenant has set goes before it. */
export function throttleCallers(
	counter: RequestCounter,
	{ perSecond, metrics }: { perSecond: number | null; metrics: Metrics },
): NonNullable<AuthenticateOptions['throttle']> {
	return ({ home, actor }) => {
		const most = home.settings.apiRatePerSecond ?? perSecond;
		if (most === null) return null;
		return counter.count({ tenantId: home.id, caller: actor, perSecond: most }).then((retryAfterSeconds) => {
			if (retryAfterSeconds === null) return;
			metrics.apiThrottledTotal.inc();
			throw new Problem(
				'rate-limited',
				`This credential may make ${most} ${most === 1 ? 'request' : 'requests'} a second. Nothing was done.`,
				{ retryAfterSeconds },
			);
		});
	};
}
