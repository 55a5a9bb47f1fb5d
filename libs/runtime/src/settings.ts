import { DEFAULT_RETRY, MOST_MONTHLY, type MonthlyCaps } from '@tidings/model';
import { LOG_LEVELS } from '@tidings/telemetry';
import { type Static, Type } from 'typebox';

/*
 * The settings that services share, each declared once; a service's schema picks from them and adds its own.
 * Beside JSON Schema: `unit` is shown with the value, `form` says in words what `pattern` wants, `secret` keeps the value out of every message.
 */

/** The longest delay that can be set, in seconds: a week, above the age at which a message expires by default. */
const MOST_DELAY = 604_800;

/** A share of a retry policy, for one message type: any of the six. */
export const RETRY_OVERRIDE = Type.Object(
	{
		maxAttempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
		baseSeconds: Type.Optional(Type.Number({ minimum: 0, maximum: MOST_DELAY })),
		maxSeconds: Type.Optional(Type.Number({ minimum: 0, maximum: MOST_DELAY })),
		multiplier: Type.Optional(Type.Number({ minimum: 1, maximum: 1_000 })),
		jitter: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
		quotaFloorSeconds: Type.Optional(Type.Number({ minimum: 0, maximum: MOST_DELAY })),
	},
	{ additionalProperties: false },
);

const port = { minimum: 0, maximum: 65_535 };
const KEY = '[A-Za-z0-9._-]{1,64}:[A-Za-z0-9+/]{43}=';

/** How failed attempts are repeated: read them with `retryPolicies`. */
export const RETRY_SETTINGS = {
	TIDINGS_RETRY_MAX_ATTEMPTS: Type.Integer({
		description: 'Attempts of a message that may fail before it becomes a dead letter.',
		default: DEFAULT_RETRY.maxAttempts,
		minimum: 1,
		maximum: 100,
	}),
	TIDINGS_RETRY_BASE_SECONDS: Type.Number({
		description: 'Delay after the first failed attempt.',
		default: DEFAULT_RETRY.baseSeconds,
		minimum: 0,
		maximum: MOST_DELAY,
		unit: 's',
	}),
	TIDINGS_RETRY_MAX_SECONDS: Type.Number({
		description: 'No delay is longer, before jitter.',
		default: DEFAULT_RETRY.maxSeconds,
		minimum: 0,
		maximum: MOST_DELAY,
		unit: 's',
	}),
	TIDINGS_RETRY_MULTIPLIER: Type.Number({
		description: 'Each further failed attempt multiplies the delay by this.',
		default: DEFAULT_RETRY.multiplier,
		minimum: 1,
		maximum: 1_000,
	}),
	TIDINGS_RETRY_JITTER: Type.Number({
		description: 'Share of the delay by which it varies both ways: 0.5 is ±50 %.',
		default: DEFAULT_RETRY.jitter,
		minimum: 0,
		maximum: 1,
	}),
	TIDINGS_RETRY_QUOTA_FLOOR_SECONDS: Type.Number({
		description: "Least delay after a provider's answer that a quota or rate is used up.",
		default: DEFAULT_RETRY.quotaFloorSeconds,
		minimum: 0,
		maximum: MOST_DELAY,
		unit: 's',
	}),
	TIDINGS_RETRY_TYPES: Type.Record(Type.String(), RETRY_OVERRIDE, {
		description:
			'Exceptions by message type, field by field: {"order.confirmed": {"maxAttempts": 8}}. Fields: maxAttempts, baseSeconds, maxSeconds, multiplier, jitter, quotaFloorSeconds. A tenant may have exceptions of its own above these (setting `retryTypes`).',
		default: {},
	}),
};

const monthly = (what: string) =>
	Type.Optional(
		Type.Integer({
			description: `${what} that are accepted for a tenant in a calendar month (UTC), and for the platform itself, where the operator has set nothing for that tenant. Empty: no limit, but counted.`,
			minimum: 0,
			maximum: MOST_MONTHLY,
		}),
	);

/** How much is accepted in a month: read them with `monthlyCaps`. */
export const QUOTA_SETTINGS = {
	TIDINGS_QUOTA_MAIL_MONTHLY: monthly('Recipients of mails'),
	TIDINGS_QUOTA_SMS_MONTHLY: monthly('Text messages'),
	TIDINGS_QUOTA_LINE_MONTHLY: monthly('LINE messages'),
};

const quotaSchema = Type.Object(QUOTA_SETTINGS);

/** The caps of tenants for whom the operator has set nothing; null: none. */
export function monthlyCaps(settings: Static<typeof quotaSchema>): MonthlyCaps {
	return {
		MAIL: settings.TIDINGS_QUOTA_MAIL_MONTHLY ?? null,
		SMS: settings.TIDINGS_QUOTA_SMS_MONTHLY ?? null,
		LINE: settings.TIDINGS_QUOTA_LINE_MONTHLY ?? null,
	};
}

/** Every shared setting. */
export const SETTINGS = {
	DATABASE_URL: Type.String({
		description: 'The PostgreSQL database.',
		pattern: '^postgres(ql)?://.+',
		form: 'postgres://user:password@host:5432/database',
		secret: true,
	}),
	BROKER_URL: Type.String({
		description: 'The broker.',
		pattern: '^(embedded:|(pulsar(\\+ssl)?|wss?)://.+)',
		form: 'pulsar://host:6650, pulsar+ssl://…, ws://host:8080 or wss://…',
		secret: true,
	}),
	BROKER_NAMESPACE: Type.String({
		description: 'Tenant and namespace of the topics at the broker.',
		default: 'public/default',
		pattern: '^[\\w.=:-]+/[\\w.=:-]+$',
		form: 'tenant/namespace',
	}),
	BROKER_TOKEN: Type.Optional(
		Type.String({
			description: 'The token that the broker asks for; it is read once at the start, so restart the service before it expires.',
			pattern: '^[\\x21-\\x7e]+$',
			form: 'a token without spaces',
			secret: true,
		}),
	),
	PULSAR_ADMIN_URL: Type.Optional(
		Type.String({
			description:
				"Pulsar's admin API, for topics and backlogs. Derived from BROKER_URL when that is ws:// or wss://; without it a pulsar:// broker must create topics by itself, and no backlog is shown.",
			pattern: '^https?://.+',
			form: 'http://host:8080',
			secret: true,
		}),
	),
	REDIS_URL: Type.Optional(
		Type.String({
			description:
				'The Redis that counts the requests of each caller for all processes together. Empty, or while it is away: each counts by itself, and the state of a mail server does not show its limits.',
			pattern: '^rediss?://.+',
			form: 'redis://user:password@host:6379/0, or rediss://…',
			secret: true,
		}),
	),
	TIDINGS_DATABASE_CONNECTIONS: Type.Integer({
		description: 'Connections to the database at most.',
		default: 10,
		minimum: 3,
		maximum: 1_000,
	}),
	TIDINGS_HTTP_PORT: Type.Integer({ description: 'Port of the API; 0 is any free one.', default: 7070, ...port }),
	TIDINGS_API_RATE_PER_SECOND: Type.Optional(
		Type.Integer({
			description:
				'Requests a second that each caller may make; beyond them it is answered 429. Empty: no limit. A tenant may have one of its own.',
			minimum: 1,
			maximum: 1_000_000,
		}),
	),
	TIDINGS_ADMIN_PORT: Type.Integer({ description: 'Port of /livez, /readyz and /metrics; 0 is any free one.', default: 7072, ...port }),
	TIDINGS_SECRET_KEYS: Type.String({
		description: 'Keys that seal credentials at rest, newest first: the first seals, all open.',
		pattern: `^${KEY}(,${KEY})*$`,
		form: 'keyId:base64 of 32 bytes, several separated by commas',
		secret: true,
	}),
	...RETRY_SETTINGS,
	TIDINGS_LEASE_SECONDS: Type.Integer({
		description: 'How long a claimed record belongs to its sender before it is rescued. Must be above TIDINGS_SEND_DEADLINE_SECONDS.',
		default: 120,
		minimum: 1,
		maximum: 86_400,
		unit: 's',
	}),
	TIDINGS_SEND_DEADLINE_SECONDS: Type.Number({
		description: 'Total time of one attempt at a provider.',
		default: 90,
		exclusiveMinimum: 0,
		maximum: 86_400,
		unit: 's',
	}),
	TIDINGS_HEAL_SECONDS: Type.Number({
		description: 'A published message that nobody claims for this long is published again; doubles each time.',
		default: 600,
		exclusiveMinimum: 0,
		unit: 's',
	}),
	TIDINGS_DRAIN_SECONDS: Type.Number({
		description: 'How long a stop waits for what is in hand. Keep it below the grace period of what runs the service.',
		default: 25,
		exclusiveMinimum: 0,
		unit: 's',
	}),
	TIDINGS_ALLOW_PRIVATE_HOSTS: Type.Boolean({
		description: 'Whether servers that tenants name may have private, loopback or link-local addresses.',
		default: false,
	}),
	LOG_LEVEL: Type.Enum([...LOG_LEVELS], { description: 'Least level that is logged.', default: 'info' }),
};

/** What every service that runs by itself reads. */
export const SERVICE_SETTINGS = {
	DATABASE_URL: SETTINGS.DATABASE_URL,
	TIDINGS_DATABASE_CONNECTIONS: SETTINGS.TIDINGS_DATABASE_CONNECTIONS,
	TIDINGS_ADMIN_PORT: SETTINGS.TIDINGS_ADMIN_PORT,
	TIDINGS_DRAIN_SECONDS: SETTINGS.TIDINGS_DRAIN_SECONDS,
	LOG_LEVEL: SETTINGS.LOG_LEVEL,
};

/** What a service that publishes or consumes reads besides. */
export const BROKER_SETTINGS = {
	BROKER_URL: SETTINGS.BROKER_URL,
	BROKER_NAMESPACE: SETTINGS.BROKER_NAMESPACE,
	BROKER_TOKEN: SETTINGS.BROKER_TOKEN,
	PULSAR_ADMIN_URL: SETTINGS.PULSAR_ADMIN_URL,
};

const brokerSchema = Type.Object(BROKER_SETTINGS);

/** Where the broker is, as `openBroker` takes it. */
export function brokerOptions(settings: Static<typeof brokerSchema>) {
	return {
		url: settings.BROKER_URL,
		namespace: settings.BROKER_NAMESPACE,
		token: settings.BROKER_TOKEN,
		adminUrl: settings.PULSAR_ADMIN_URL,
	};
}

/** Rules over `BROKER_SETTINGS`. */
export const BROKER_RULES = [
	{
		of: ['BROKER_URL'] as const,
		fault: (settings: { BROKER_URL: string }): string | null =>
			settings.BROKER_URL.startsWith('embedded:')
				? 'must name a Pulsar: embedded: lives in the memory of one process, so only standalone (npm start) can use it'
				: null,
	},
];

/** Rules over `SETTINGS.REDIS_URL`: what its client cannot read it would repeat, password and all. */
export const REDIS_RULES = [
	{
		of: ['REDIS_URL'] as const,
		fault: ({ REDIS_URL: url }: { REDIS_URL?: string | undefined }): string | null =>
			url === undefined || isReadableUrl(url)
				? null
				: 'is no URL: in a user and a password `/`, `?`, `#`, `@` and `%` are written as `%2F` and so on',
	},
];

function isReadableUrl(text: string): boolean {
	try {
		const { username, password } = new URL(text);
		decodeURIComponent(username + password);
		return true;
	} catch {
		return false;
	}
}
