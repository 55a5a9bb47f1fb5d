import { brokerPart, openBroker } from '@tidings/broker';
import { open } from '@tidings/crypto';
import { alertRecipients, deadLetterParts } from '@tidings/dead-letter';
import { createMemoryWindows } from '@tidings/limits';
import { mailSenderParts, sendingOptions } from '@tidings/mail-sender';
import { callerOptions, messageApiParts } from '@tidings/message-api';
import { VERSION } from '@tidings/model';
import { outboxPublisherParts, publishingOptions } from '@tidings/outbox-publisher';
import { monthlyCaps, retryPolicies, runService } from '@tidings/runtime';
import { type Logger, type Metrics, tracingPart } from '@tidings/telemetry';
import { announce } from './announce.js';
import type { StandaloneConfig } from './config.js';
import { factsFile, type Ground } from './prepare.js';

/** Only this machine: standalone is for trying and developing. */
const HOST = '127.0.0.1';

/** Runs every service in this process on prepared ground, and announces it when all are ready. Resolves then; the process lives on until it is stopped. */
export async function runAll(
	ground: Ground,
	{ flags, settings }: StandaloneConfig,
	{ log, metrics }: { log: Logger; metrics: Metrics },
): Promise<void> {
	const { db, databaseUrl, keyring } = ground;
	const broker = await openBroker({ url: 'embedded:', namespace: 'public/default', log });
	const publisher = outboxPublisherParts({
		db,
		databaseUrl,
		broker,
		log,
		metrics,
		...publishingOptions(settings),
		messagingSystem: 'embedded',
	});
	// One process sends, so that its own memory is enough.
	const limits = createMemoryWindows();
	const sender = mailSenderParts({
		db,
		broker,
		log,
		metrics,
		limits,
		openSecret: (sealed, field) => open(keyring, sealed, field),
		...sendingOptions(settings),
		messagingSystem: 'embedded',
	});
	const api = messageApiParts({
		db,
		log,
		metrics,
		keyring,
		httpPort: flags.port,
		host: HOST,
		allowPrivateHosts: settings.TIDINGS_ALLOW_PRIVATE_HOSTS,
		policyOf: retryPolicies(settings),
		caps: monthlyCaps(settings),
		windows: limits,
		...callerOptions(settings),
		version: VERSION,
	});
	const tracing = tracingPart({ service: 'standalone', version: VERSION, log, drainSeconds: settings.TIDINGS_DRAIN_SECONDS });
	const { adminPort } = await runService({
		name: 'standalone',
		log,
		metrics,
		parts: [
			tracing,
			...ground.parts,
			brokerPart(broker, log),
			...publisher,
			...sender,
			...deadLetterParts({ db, databaseUrl, broker, log, metrics, recipients: alertRecipients(settings), caps: monthlyCaps(settings) }),
			...api.parts,
		],
		adminPort: flags.adminPort,
		adminHost: HOST,
		drainSeconds: settings.TIDINGS_DRAIN_SECONDS,
	});
	const mail = `http://${HOST}:${ground.catcher.webPort}`;
	announce(
		{
			pid: process.pid,
			api: api.address(),
			openapi: `${api.address()}/openapi.json`,
			...ground.credentials,
			mail: { smtp: `smtp://${HOST}:${ground.catcher.smtpPort}`, web: mail, api: mail },
			metrics: `http://${HOST}:${adminPort}/metrics`,
		},
		factsFile(flags),
	);
}
