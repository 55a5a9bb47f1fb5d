import { parseKeys } from '@tidings/crypto';
import { loadConfig, RETRY_SETTINGS, SETTINGS } from '@tidings/runtime';
import { type Static, Type } from 'typebox';

/** The settings of message-api. */
export const MESSAGE_API_SETTINGS = {
	DATABASE_URL: SETTINGS.DATABASE_URL,
	TIDINGS_SECRET_KEYS: SETTINGS.TIDINGS_SECRET_KEYS,
	TIDINGS_HTTP_PORT: SETTINGS.TIDINGS_HTTP_PORT,
	TIDINGS_ADMIN_PORT: SETTINGS.TIDINGS_ADMIN_PORT,
	TIDINGS_ALLOW_PRIVATE_HOSTS: SETTINGS.TIDINGS_ALLOW_PRIVATE_HOSTS,
	TIDINGS_DATABASE_CONNECTIONS: Type.Integer({
		description: 'Connections to the database at most.',
		default: 10,
		minimum: 3,
		maximum: 1_000,
	}),
	...RETRY_SETTINGS,
	TIDINGS_DRAIN_SECONDS: SETTINGS.TIDINGS_DRAIN_SECONDS,
	LOG_LEVEL: SETTINGS.LOG_LEVEL,
};

const schema = Type.Object(MESSAGE_API_SETTINGS);

/** Reads the settings; ends the process with every fault when they are wrong. */
export function readSettings(): Static<typeof schema> {
	return loadConfig({
		service: 'message-api',
		about: 'takes messages over HTTP and answers what became of them.',
		schema,
		rules: [{ of: ['TIDINGS_SECRET_KEYS'], fault: (settings) => faultOfKeys(settings.TIDINGS_SECRET_KEYS) }],
	});
}

function faultOfKeys(text: string): string | null {
	try {
		parseKeys(text);
		return null;
	} catch (error) {
		return error instanceof Error ? error.message : String(error);
	}
}
