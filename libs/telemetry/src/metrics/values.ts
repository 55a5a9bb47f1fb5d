import { CHANNELS, ROUTES } from '@tidings/model';

/** A channel as a label value. */
export type ChannelLabel = Lowercase<(typeof CHANNELS)[number]>;
export const CHANNEL_LABELS = CHANNELS.map((channel) => channel.toLowerCase() as ChannelLabel);
export const PROVIDER_LABELS = ['smtp'] as const;
export const GATE_REASON_LABELS = ['none', 'RATE', 'AUTH', 'CONFIG', 'UNREACHABLE', 'QUOTA', 'PAUSED'] as const;
export const ROUTE_LABELS = ROUTES.map((row) => row.route);

/** 1 ms to 5 s: our own statements and calls. */
export const FAST = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;
/** 50 ms to 24 h: end to end. */
export const END_TO_END = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400, 43200, 86400] as const;
