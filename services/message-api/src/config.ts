import { faultOfKeys } from '@tidings/crypto';
import { loadConfig, RETRY_SETTINGS, SERVICE_SETTINGS, SETTINGS } from '@tidings/runtime';
import { type Static, Type } from 'typebox';

/** The settings of message-api. */
export const MESSAGE_API_SETTINGS = {
	...SERVICE_SETTINGS,
	TIDINGS_SECRET_KEYS: SETTINGS.TIDINGS_SECRET_KEYS,
	TIDINGS_HTTP_PORT: SETTINGS.TIDINGS_HTTP_PORT,
	TIDINGS_ALLOW_PRIVATE_HOSTS: SETTINGS.TIDINGS_ALLOW_PRIVATE_HOSTS,
	...RETRY_SETTINGS,
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
