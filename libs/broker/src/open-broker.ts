import type { Broker, BrokerLog } from './broker.js';
import { EmbeddedBroker } from './embedded.js';

/** Where the broker is, and how its topics are named there. */
export type BrokerOptions = {
	/** The scheme chooses the driver. `embedded:`, with nothing after it, is a broker in the memory of this process. */
	readonly url: string;
	/** Tenant and namespace of every topic, such as `public/default`. The embedded broker is one namespace and needs no name for it. */
	readonly namespace: string;
	/** The token that the broker asks for; none when it asks for none. */
	readonly token?: string | undefined;
	/** Pulsar's admin API, such as `http://host:8080`; for ws:// and wss:// it is the same server by default. */
	readonly adminUrl?: string | undefined;
	/** Where errors of handlers go that can be handed to nobody; by default they become process warnings. */
	readonly log?: BrokerLog;
};

/**
 * Opens the broker that a URL names. It resolves without waiting for a connection: `connected()` and the events tell of that.
 * Rejects when the URL has no scheme, or one that no driver serves; the text never repeats more of the URL than its scheme, for it may hold a password.
 */
export async function openBroker({ url, log }: BrokerOptions): Promise<Broker> {
	const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0].toLowerCase();
	if (scheme === undefined) throw new Error('the broker URL has no scheme; this release knows embedded:');
	if (scheme !== 'embedded:') throw new Error(`no driver serves broker URLs of the scheme ${scheme} in this release; it knows embedded:`);
	if (url.length > scheme.length) throw new Error('the broker URL embedded: has nothing after the colon');
	return new EmbeddedBroker(log);
}
