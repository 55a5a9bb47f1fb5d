import { hostname } from 'node:os';
import type { Broker, Subscription } from '@tidings/broker';
import type { Db } from '@tidings/db';
import { createDelivery } from '@tidings/delivery';
import type { RetryPolicy } from '@tidings/model';
import { checkOutboundHost, createPoll, type Part } from '@tidings/runtime';
import type { Logger, Metrics } from '@tidings/telemetry';
import { consume } from './consume.js';
import type { OpenSecret } from './load-server.js';
import { createSmtpProvider } from './smtp-provider.js';

/** What a mail sender is made of. */
export type MailSenderOptions = {
	readonly db: Db;
	readonly broker: Broker;
	readonly log: Logger;
	readonly metrics: Metrics;
	readonly openSecret: OpenSecret;
	/** Whether servers on private networks may be dialled. */
	readonly allowPrivateHosts: boolean;
	readonly leaseSeconds: number;
	readonly deadlineSeconds: number;
	readonly connectSeconds: number;
	readonly readSeconds: number;
	/** Mails at once through one server. */
	readonly slots: number;
	/** Un-acked messages at most, for each lane: what waits for a slot is among them. */
	readonly inHand: number;
	readonly policyOf: (type: string) => RetryPolicy;
};

/** The parts of the mail sender. Any number may run at once. */
export function mailSenderParts(options: MailSenderOptions): Part[] {
	const { db, broker, log, metrics } = options;
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
	let subscriptions: Subscription[] = [];
	const delivery = createDelivery({
		db,
		provider,
		route: 'mail-send',
		worker: `${hostname()}/${process.pid}`,
		slots: options.slots,
		leaseSeconds: options.leaseSeconds,
		deadlineSeconds: options.deadlineSeconds,
		policyOf: options.policyOf,
		log,
		metrics,
		onAway: (away) => {
			for (const subscription of subscriptions) away ? subscription.pause() : subscription.resume();
		},
	});
	const { inHand } = options;
	const sender: Part = {
		name: 'mail-sender',
		start: async () => {
			subscriptions = await consume({
				broker,
				db,
				delivery,
				route: 'mail-send',
				inHand: { urgent: inHand, normal: inHand, bulk: inHand },
				log,
				metrics,
			});
		},
		quiet: () => {
			for (const subscription of subscriptions) subscription.pause();
			delivery.quiet();
		},
		stop: async () => {
			await delivery.drained();
			await Promise.all(subscriptions.map((subscription) => subscription.close()));
			await provider.close();
		},
	};
	const idle = createPoll({ name: 'idle-smtp-pools', intervalMs: 60_000, log, act: () => provider.closeIdle() });
	return [sender, idle];
}
