import type { BrokerLog } from './broker.js';

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
