import { faultOfKeys } from '@tidings/crypto';
import {
	BROKER_RULES,
	BROKER_SETTINGS,
	loadConfig,
	REDIS_RULES,
	RETRY_SETTINGS,
	retryPolicies,
	SERVICE_SETTINGS,
	SETTINGS,
} from '@tidings/runtime';
import { type Static, Type } from 'typebox';

/** How mails are sent: what standalone reads too. */
export const SENDING_SETTINGS = {
	TIDINGS_ALLOW_PRIVATE_HOSTS: SETTINGS.TIDINGS_ALLOW_PRIVATE_HOSTS,
	TIDINGS_LEASE_SECONDS: SETTINGS.TIDINGS_LEASE_SECONDS,
	TIDINGS_SEND_DEADLINE_SECONDS: SETTINGS.TIDINGS_SEND_DEADLINE_SECONDS,
	TIDINGS_SMTP_CONNECT_SECONDS: Type.Number({
		description: 'Time to look a mail server up and to connect to it.',
		default: 5,
		exclusiveMinimum: 0,
		unit: 's',
	}),
	TIDINGS_SMTP_READ_SECONDS: Type.Number({
		description: 'Time for each answer of a mail server.',
		default: 30,
		exclusiveMinimum: 0,
		unit: 's',
	}),
	TIDINGS_SMTP_SLOTS: Type.Integer({
		description: 'Mails at once through one mail server, by one process.',
		default: 20,
		minimum: 1,
		maximum: 1_000,
	}),
	TIDINGS_PROBE_SECONDS: Type.Number({
		description:
			'A mail server that cannot be reached, or refuses the log-in, is tried again after so long, by a log-in without a mail. Each failure doubles it, up to 15 minutes.',
		default: 30,
		exclusiveMinimum: 0,
		maximum: 900,
		unit: 's',
	}),
	TIDINGS_IN_HAND: Type.Integer({
		description:
			'Messages that a process holds un-acked at most, for each lane. Each server that hangs fills TIDINGS_FLOW_WINDOW of them with its line.',
		default: 5_000,
		minimum: 1,
		maximum: 100_000,
	}),
	...RETRY_SETTINGS,
};

const sendingSchema = Type.Object(SENDING_SETTINGS);

/** How mails are sent, as `mailSenderParts` takes it. */
export function sendingOptions(settings: Static<typeof sendingSchema>) {
	return {
		allowPrivateHosts: settings.TIDINGS_ALLOW_PRIVATE_HOSTS,
		leaseSeconds: settings.TIDINGS_LEASE_SECONDS,
		deadlineSeconds: settings.TIDINGS_SEND_DEADLINE_SECONDS,
		connectSeconds: settings.TIDINGS_SMTP_CONNECT_SECONDS,
		readSeconds: settings.TIDINGS_SMTP_READ_SECONDS,
		slots: settings.TIDINGS_SMTP_SLOTS,
		probeSeconds: settings.TIDINGS_PROBE_SECONDS,
		inHand: settings.TIDINGS_IN_HAND,
		policyOf: retryPolicies(settings),
	};
}

/** Rules over several of these settings. */
export const MAIL_SENDER_RULES = [
	{
		of: ['TIDINGS_SEND_DEADLINE_SECONDS', 'TIDINGS_LEASE_SECONDS'] as const,
		fault: (settings: { TIDINGS_SEND_DEADLINE_SECONDS: number; TIDINGS_LEASE_SECONDS: number }): string | null =>
			settings.TIDINGS_SEND_DEADLINE_SECONDS < settings.TIDINGS_LEASE_SECONDS
				? null
				: 'must be below TIDINGS_LEASE_SECONDS, else two senders could hold one mail at once',
	},
];

/** Every setting of the mail sender. */
export const MAIL_SENDER_SETTINGS = {
	...SERVICE_SETTINGS,
	...BROKER_SETTINGS,
	TIDINGS_SECRET_KEYS: SETTINGS.TIDINGS_SECRET_KEYS,
	REDIS_URL: Type.String({
		...SETTINGS.REDIS_URL,
		description: 'The Redis that holds the rate windows of mail servers, for all senders together. While it is away nothing is sent.',
	}),
	...SENDING_SETTINGS,
};

const schema = Type.Object(MAIL_SENDER_SETTINGS);

/** Reads the settings; ends the process with every fault when they are wrong. */
export function readSettings(): Static<typeof schema> {
	return loadConfig({
		service: 'mail-sender',
		about: 'sends mails by SMTP and writes down what became of them.',
		schema,
		rules: [
			...BROKER_RULES,
			...MAIL_SENDER_RULES,
			...REDIS_RULES,
			{ of: ['TIDINGS_SECRET_KEYS'], fault: (settings) => faultOfKeys(settings.TIDINGS_SECRET_KEYS) },
		],
	});
}
