import { BROKER_RULES, BROKER_SETTINGS, loadConfig, SERVICE_SETTINGS, SETTINGS } from '@tidings/runtime';
import { type Static, Type } from 'typebox';
import { RELAY_DEFAULTS } from './parts.js';

/** The settings of the outbox publisher, beside what every service needs. */
export const PUBLISHER_SETTINGS = {
	TIDINGS_HEAL_SECONDS: SETTINGS.TIDINGS_HEAL_SECONDS,
	TIDINGS_POLL_MILLISECONDS: Type.Integer({
		description: 'How often due entries are looked for when no notification came.',
		default: 500,
		minimum: 10,
		unit: 'ms',
	}),
	TIDINGS_PUBLISH_LEASE_SECONDS: Type.Number({
		description:
			'How long a publisher keeps entries that it has taken; another publishes them after that. Longer than a broker may take to answer.',
		default: 30,
		exclusiveMinimum: 0,
		unit: 's',
	}),
	TIDINGS_SWEEP_SECONDS: Type.Number({
		description: 'How often leases that ran out, late records and lost entries are looked for.',
		default: 15,
		exclusiveMinimum: 0,
		unit: 's',
	}),
	TIDINGS_FLOW_WINDOW: Type.Integer({
		description: 'Messages of one tenant, provider and lane that may be published and unclaimed at once; the rest waits in the database.',
		default: 200,
		minimum: 1,
		maximum: 10_000,
	}),
};

const publisherSchema = Type.Object(PUBLISHER_SETTINGS);

/** How it publishes and sweeps, as `outboxPublisherParts` takes it. */
export function publishingOptions(settings: Static<typeof publisherSchema>) {
	return {
		pollMs: settings.TIDINGS_POLL_MILLISECONDS,
		sweepSeconds: settings.TIDINGS_SWEEP_SECONDS,
		healSeconds: settings.TIDINGS_HEAL_SECONDS,
		relay: { ...RELAY_DEFAULTS, window: settings.TIDINGS_FLOW_WINDOW, leaseSeconds: settings.TIDINGS_PUBLISH_LEASE_SECONDS },
	};
}

const schema = Type.Object({ ...SERVICE_SETTINGS, ...BROKER_SETTINGS, ...PUBLISHER_SETTINGS });

/** Reads the settings; ends the process with every fault when they are wrong. */
export function readSettings(): Static<typeof schema> {
	return loadConfig({
		service: 'outbox-publisher',
		about: 'publishes what is due, and sweeps, heals and expires what got stuck.',
		schema,
		rules: BROKER_RULES,
	});
}
