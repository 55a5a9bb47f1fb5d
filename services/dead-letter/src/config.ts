import { BROKER_RULES, BROKER_SETTINGS, loadConfig, QUOTA_SETTINGS, SERVICE_SETTINGS } from '@tidings/runtime';
import { type Static, Type } from 'typebox';
import { ALERT_SETTINGS } from './alert-recipients.js';

/** The settings of the dead-letter service. */
export const DEAD_LETTER_SETTINGS = { ...SERVICE_SETTINGS, ...BROKER_SETTINGS, ...ALERT_SETTINGS, ...QUOTA_SETTINGS };

const schema = Type.Object(DEAD_LETTER_SETTINGS);

/** Reads the settings; ends the process with every fault when they are wrong. */
export function readSettings(): Static<typeof schema> {
	return loadConfig({
		service: 'dead-letter',
		about: 'archives what the broker gave up on, so that a person can triage it; replays dead letters, and tells operators of new ones.',
		schema,
		rules: BROKER_RULES,
	});
}
