import type { QuotaRefusal } from '@tidings/db';
import { now, Problem } from '@tidings/model';

const WORDS = { MAIL: 'mail', SMS: 'SMS', LINE: 'LINE' } as const;

/** The refusal of what is over the monthly quota. `isBatch`: the item that does not fit is named. */
export function overQuota({ channel, scope, month, used, cap, cost, index }: QuotaRefusal, isBatch: boolean): Problem {
	const owner = scope === 'PLATFORM' ? 'platform’s ' : '';
	const detail = `The ${owner}monthly quota of ${WORDS[channel]} does not suffice: in ${month} (UTC) ${used} of ${cap} are used, and this request costs ${cost}. Nothing was written.`;
	const fault = {
		pointer: `/items/${index}`,
		code: 'over-quota',
		detail: `From this item on the batch is over the quota: ${Math.max(0, cap - used)} were left for it.`,
	} as const;
	return new Problem('quota-exceeded', detail, { faults: isBatch ? [fault] : [], retryAfterSeconds: secondsToNextMonth(month, now()) });
}

/** Seconds until the month after this one begins in UTC, rounded up; at least one. */
function secondsToNextMonth(month: string, at: Date): number {
	const [year = 0, number = 0] = month.split('-').map(Number);
	return Math.max(1, Math.ceil((Date.UTC(year, number) - at.getTime()) / 1000));
}
