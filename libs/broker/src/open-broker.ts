import type { Broker } from './broker.js';
import type { BrokerOptions } from './broker-options.js';
import { EmbeddedBroker } from './embedded.js';

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
