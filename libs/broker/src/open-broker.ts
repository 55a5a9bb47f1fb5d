import type { Broker, BrokerLog } from './broker.js';
import { EmbeddedBroker } from './embedded.js';

/** Where the broker is, and how its topics are named there. */
export type BrokerOptions = {
	/**
	 * The scheme chooses the driver: `pulsar://` and `pulsar+ssl://` are Pulsar by its official client, `ws://` and `wss://` Pulsar by its WebSocket API;
	 * `embedded:`, with nothing after it, is a broker in the memory of this process.
	 */
	readonly url: string;
	/** Tenant and namespace of every topic, such as `public/default`. The embedded broker is one namespace and needs no name for it. */
	readonly namespace: string;
	/** The token that the broker asks for; none when it asks for none. */
	readonly token?: string | undefined;
	/** Pulsar's admin API, such as `http://host:8080`; for ws:// and wss:// it is the same server by default. */
	readonly adminUrl?: string | undefined;
	/** Where outages and errors of handlers go that can be handed to nobody; by default they become process warnings. */
	readonly log?: BrokerLog;
};

const SCHEMES = 'pulsar://, pulsar+ssl://, ws://, wss:// and embedded:';

/**
 * Opens the broker that a URL names. It resolves without waiting for a connection: `connected()` and the events tell of that.
 * Rejects when the URL has no scheme, or one that no driver serves, when it holds a password, when the namespace cannot be one, or when the optional package of a driver is not installed.
 * The text never repeats more of the URL than its scheme, for it may hold a secret.
 */
export async function openBroker(options: BrokerOptions): Promise<Broker> {
	const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(options.url)?.[0].toLowerCase();
	switch (scheme) {
		case undefined:
			throw new Error(`the broker URL has no scheme; there are ${SCHEMES}`);
		case 'embedded:':
			if (options.url.length > scheme.length) throw new Error('the broker URL embedded: has nothing after the colon');
			return new EmbeddedBroker(options.log);
		// The drivers of Pulsar are loaded only where they are used: one is an optional package, and neither has a place in a process without Pulsar.
		case 'ws:':
		case 'wss:':
			return (await import('./pulsar-websocket/open-websocket-broker.js')).openWebSocketBroker(options);
		case 'pulsar:':
		case 'pulsar+ssl:':
			return (await import('./pulsar/open-pulsar-broker.js')).openPulsarBroker(options);
		default:
			throw new Error(`no driver serves broker URLs of the scheme ${scheme}; there are ${SCHEMES}`);
	}
}
