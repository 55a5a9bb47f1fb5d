import { type Broker, type BrokerLog, openBroker } from '@tidings/broker';
import type { TestPulsar } from '../harness/pulsar.js';

/** The two drivers of a real Pulsar. */
export type PulsarDriver = 'websocket' | 'pulsar';

/** Where a Pulsar is: a broker of the harness, or what stands in front of one. */
export type PulsarAddresses = Pick<TestPulsar, 'webUrl' | 'wsUrl' | 'serviceUrl'>;

/** Whom a driver says that it is, and where it logs; default: nobody, nowhere. */
export type DriverOptions = { readonly namespace: string; readonly token?: string; readonly log?: BrokerLog };

const SILENT: BrokerLog = { error: () => undefined, warn: () => undefined };

/** Opens a broker by one of the two drivers. */
export async function openDriver(
	driver: PulsarDriver,
	at: PulsarAddresses,
	{ namespace, token, log = SILENT }: DriverOptions,
): Promise<Broker> {
	return await openBroker({ url: driver === 'websocket' ? at.wsUrl : at.serviceUrl, adminUrl: at.webUrl, namespace, token, log });
}

/** Whether the optional package of the official client is there with its binary. Rejects when it is there and cannot be loaded. */
export async function hasOfficialClient(): Promise<boolean> {
	try {
		const broker = await openBroker({ url: 'pulsar://127.0.0.1:1', namespace: 'public/default', log: SILENT });
		await broker.close();
		return true;
	} catch (error) {
		// Under Jest the cause is an Error of another realm.
		const cause = error instanceof Error ? error.cause : undefined;
		if (typeof cause === 'object' && cause !== null && 'code' in cause && cause.code === 'MODULE_NOT_FOUND') return false;
		throw error;
	}
}
