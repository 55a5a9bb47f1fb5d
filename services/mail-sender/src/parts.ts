import { hostname } from 'node:os';
import type { Broker } from '@tidings/broker';
import type { Db } from '@tidings/db';
import { createDelivery, probeGates } from '@tidings/delivery';
import type { RateWindows } from '@tidings/limits';
import type { RetryPolicy } from '@tidings/model';
import { checkOutboundHost, createPoll, type Part } from '@tidings/runtime';
import type { Logger, Metrics } from '@tidings/telemetry';
import { createConsumer } from './consume.js';
import type { OpenSecret } from './load-server.js';
import { createRetryTypesOf } from './retry-types-of.js';
import { createSmtpProvider } from './smtp-provider.js';

/** What a mail sender is made of. */
export type MailSenderOptions = {
	readonly db: Db;
	readonly broker: Broker;
	readonly log: Logger;
	readonly metrics: Metrics;
	/** Asked before every claim; while they cannot answer nothing is sent. */
	readonly limits: RateWindows;
	readonly openSecret: OpenSecret;
	/** Whether servers on private networks may be dialled. */
	readonly allowPrivateHosts: boolean;
	readonly leaseSeconds: number;
	readonly deadlineSeconds: number;
	readonly connectSeconds: number;
	readonly readSeconds: number;
	/** Mails at once through one server. */
	readonly slots: number;
	/** A server that cannot be used is tried again after so many seconds, by a log-in without a mail, and then ever more rarely. */
	readonly probeSeconds: number;
	/** A server all of whose slots are held for so many milliseconds hangs; default 10,000. */
	readonly hungMs?: number;
	/** Limits that were read so many milliseconds ago are read again; default 1,000. */
	readonly freshMs?: number;
	/** Un-acked messages at most, for each lane: what waits for a slot is among them. */
	readonly inHand: number;
	readonly policyOf: (type: string) => RetryPolicy;
	/** A message whose handling failed in an unknown way comes back after so many milliseconds; default 30,000. */
	readonly nackMs?: number;
	/** The broker's kind as traces show it; default `pulsar`. */
	readonly messagingSystem?: string;
};

/** Due probes are rows: they are looked for this often, by an index that holds only closed gates. */
const PROBE_POLL_MS = 5_000;

/** The parts of the mail sender. Any number may run at once. */
export function mailSenderParts(options: MailSenderOptions): Part[] {
	const { db, broker, log, metrics, limits, messagingSystem = 'pulsar' } = options;
	const provider = createSmtpProvider({
		db,
		log,
		openSecret: options.openSecret,
		resolveHost: async (host) => {
			const answer = await checkOutboundHost(host, { allowPrivate: options.allowPrivateHosts });
			return answer.kind === 'allowed' ? { kind: 'allowed', addresses: answer.addresses.map((one) => one.address) } : answer;
		},
		slots: options.slots,
		deadlineSeconds: options.deadlineSeconds,
		connectSeconds: options.connectSeconds,
		readSeconds: options.readSeconds,
	});
	const consumer = createConsumer({
		broker,
		route: 'mail-send',
		inHand: options.inHand,
		messagingSystem,
		onMessage: (message) => delivery.take(message),
		log,
		metrics,
	});
	const delivery = createDelivery({
		db,
		provider,
		limits,
		probeSeconds: options.probeSeconds,
		...(options.hungMs === undefined ? {} : { hungMs: options.hungMs }),
		...(options.freshMs === undefined ? {} : { freshMs: options.freshMs }),
		route: 'mail-send',
		worker: `${hostname()}/${process.pid}`,
		slots: options.slots,
		leaseSeconds: options.leaseSeconds,
		deadlineSeconds: options.deadlineSeconds,
		policyOf: options.policyOf,
		retryTypesOf: createRetryTypesOf(db),
		messagingSystem,
		log,
		metrics,
		onAway: consumer.pause,
		...(options.nackMs === undefined ? {} : { nackMs: options.nackMs }),
	});
	const sender: Part = {
		name: 'mail-sender',
		start: consumer.start,
		quiet: () => {
			consumer.quiet();
			delivery.quiet();
		},
		stop: async (leftMs) => {
			await delivery.drained(leftMs);
			await consumer.stop();
			await provider.close();
		},
		health: consumer.health,
	};
	const idle = createPoll({ name: 'idle-smtp-pools', intervalMs: 60_000, log, act: () => provider.closeIdle() });
	const probes = createPoll({
		name: 'gate-probes',
		intervalMs: Math.min(PROBE_POLL_MS, options.probeSeconds * 500),
		log,
		act: (stopping) =>
			probeGates({ db, provider, probeSeconds: options.probeSeconds, leaseSeconds: options.leaseSeconds, stopping, log, metrics }),
	});
	return [limits, sender, idle, probes];
}
