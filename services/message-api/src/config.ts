import { faultOfKeys } from '@tidings/crypto';
import {
	JWT_RULES,
	JWT_SETTINGS,
	jwtOptionsOf,
	loadConfig,
	QUOTA_SETTINGS,
	REDIS_RULES,
	RETRY_SETTINGS,
	SERVICE_SETTINGS,
	SETTINGS,
} from '@tidings/runtime';
import { type Static, Type } from 'typebox';

/** The settings of message-api. */
export const MESSAGE_API_SETTINGS = {
	...SERVICE_SETTINGS,
	TIDINGS_SECRET_KEYS: SETTINGS.TIDINGS_SECRET_KEYS,
	TIDINGS_HTTP_PORT: SETTINGS.TIDINGS_HTTP_PORT,
	TIDINGS_ALLOW_PRIVATE_HOSTS: SETTINGS.TIDINGS_ALLOW_PRIVATE_HOSTS,
	...RETRY_SETTINGS,
	...QUOTA_SETTINGS,
	...JWT_SETTINGS,
	TIDINGS_API_RATE_PER_SECOND: SETTINGS.TIDINGS_API_RATE_PER_SECOND,
	REDIS_URL: SETTINGS.REDIS_URL,
};

const schema = Type.Object(MESSAGE_API_SETTINGS);
const callerSchema = Type.Object({ ...JWT_SETTINGS, TIDINGS_API_RATE_PER_SECOND: SETTINGS.TIDINGS_API_RATE_PER_SECOND });

/** Who may call and how often, as `messageApiParts` takes it. */
export function callerOptions(settings: Static<typeof callerSchema>) {
	return { jwt: jwtOptionsOf(settings), ratePerSecond: settings.TIDINGS_API_RATE_PER_SECOND ?? null };
}

/** Reads the settings; ends the process with every fault when they are wrong. */
export function readSettings(): Static<typeof schema> {
	return loadConfig({
		service: 'message-api',
		about: 'takes messages over HTTP and answers what became of them.',
		schema,
		rules: [{ of: ['TIDINGS_SECRET_KEYS'], fault: (settings) => faultOfKeys(settings.TIDINGS_SECRET_KEYS) }, ...JWT_RULES, ...REDIS_RULES],
	});
}
