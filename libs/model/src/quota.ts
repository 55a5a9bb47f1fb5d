/** The channels whose messages cost of the monthly quota. A mail costs its recipients, the others one each. */
export const QUOTA_CHANNELS = ['MAIL', 'SMS', 'LINE'] as const;
export type QuotaChannel = (typeof QUOTA_CHANNELS)[number];

/** How much of each channel is accepted in a calendar month (UTC); null: no limit. */
export type MonthlyCaps = Readonly<Record<QuotaChannel, number | null>>;

/** No cap: everything is counted and nothing refused. */
export const NO_CAPS: MonthlyCaps = { MAIL: null, SMS: null, LINE: null };

/** The highest cap that can be set. */
export const MOST_MONTHLY = 1_000_000_000_000;

/** The shares of a cap, in percent, of which is warned once each per bucket and month. */
export const QUOTA_LEVELS = [80, 100] as const;
export type QuotaLevel = (typeof QUOTA_LEVELS)[number];
