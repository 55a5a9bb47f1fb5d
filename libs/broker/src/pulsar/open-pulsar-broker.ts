import type { Broker } from '../broker.js';
import type { BrokerOptions } from '../broker-options.js';
import { createAdmin } from '../pulsar-admin.js';
import { namespacePath, pulsarUrl } from '../pulsar-names.js';
import { reportTo } from '../report.js';
import { CLIENT_LOG_LEVEL, forwardClientLog } from './client-log.js';
import type { PulsarModule } from './client-types.js';
import { loadClient } from './load-client.js';
import { type PulsarAdmin, pulsarBroker } from './pulsar-broker.js';

/** Where the broker is. */
export type PulsarOptions = BrokerOptions & {
	/** How long a message may wait for the broker's answer, in milliseconds; default 10,000. */
	readonly sendTimeoutMs?: number;
};

const SEND_TIMEOUT_MS = 10_000;
/** How long the client tries to look up, connect and create. */
const OPERATION_SECONDS = 8;
const CONNECT_MS = 5_000;

/**
 * The drivers `pulsar://` and `pulsar+ssl://`, on the official client. It waits for no connection: `connected()` tells when the broker has answered.
 * Topics are made and backlogs are read by the admin API; without its address topics come by the broker's auto-creation or by hand, and `backlog` rejects.
 * Throws when the optional package cannot be loaded, or when the URL or the namespace cannot be one.
 */
export function openPulsarBroker(
	options: PulsarOptions,
	load: () => PulsarModule = loadClient,
	admin: PulsarAdmin | undefined = adminOf(options),
): Broker {
	const { namespace, token, sendTimeoutMs = SEND_TIMEOUT_MS } = options;
	const serviceUrl = pulsarUrl(options.url, ['pulsar:', 'pulsar+ssl:'], 'the broker URL');
	namespacePath(namespace); // a wrong one is told here, not at the first topic
	const report = reportTo(options.log);
	const module = load();
	const closed = forwardClientLog(module, report, token);
	const client = new module.Client({
		serviceUrl,
		...(token === undefined ? {} : { authentication: new module.AuthenticationToken({ token }) }),
		operationTimeoutSeconds: OPERATION_SECONDS,
		connectionTimeoutMs: CONNECT_MS,
		tlsValidateHostname: true,
		logLevel: CLIENT_LOG_LEVEL,
		statsIntervalInSeconds: 0,
	});
	return pulsarBroker({ client, namespace, admin, report, sendTimeoutMs, closed });
}

function adminOf({ adminUrl, namespace, token }: PulsarOptions): PulsarAdmin | undefined {
	return adminUrl === undefined ? undefined : createAdmin({ url: adminUrl, namespace, token });
}
