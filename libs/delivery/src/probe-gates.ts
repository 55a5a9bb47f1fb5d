import { type Db, type DueProbe, endProbe, takeDueProbes, wakeGates } from '@tidings/db';
import { channelLabel, type Logger, type Metrics } from '@tidings/telemetry';
import { gateError } from './close-gate.js';
import type { Provider } from './provider.js';

/** What probing is made of. */
export type ProbeOptions = {
	readonly db: Db;
	readonly provider: Provider;
	/** The first probe of a closed gate comes after so many seconds, each further one after twice as many, 15 minutes at most. */
	readonly probeSeconds: number;
	/** A probe is given to another prober after so many seconds: more than one takes. */
	readonly leaseSeconds: number;
	/** Aborted when the process stops: what is probed then is left to the next one, after the lease. */
	readonly stopping: AbortSignal;
	readonly log: Logger;
	readonly metrics: Metrics;
};

/** Probes at once; more wait for the next round, which waits for the slowest of them. */
const PROBES = 100;

/** Probes the gates whose time has come: a log-in without a message. What lets us in opens half, so that one message goes first; what does not is probed again later. */
export async function probeGates(options: ProbeOptions): Promise<void> {
	const due = await takeDueProbes(options.db.pool, { limit: PROBES, leaseSeconds: options.leaseSeconds });
	await Promise.all(due.map((probe) => probeGate(options, probe)));
}

async function probeGate(options: ProbeOptions, probe: DueProbe): Promise<void> {
	const { db, provider, stopping, log, metrics } = options;
	const { configId, tenantId, reason } = probe;
	const refusal = await provider.probe(configId, stopping);
	if (stopping.aborted) return;
	const error = refusal === null ? null : gateError(refusal, null);
	const moved = await endProbe(db.pool, { probe, error }, options);
	if (!moved) return;
	if (refusal !== null) {
		const { category, stage, code, enhancedCode } = refusal;
		log.info({ configId, tenantId, category, stage, code, enhancedCode }, 'the gate of a provider config stays closed');
		return;
	}
	metrics.gateChangesTotal.inc({ channel: channelLabel(provider.channel), provider: provider.name, state: 'open', reason });
	log.info({ configId, tenantId, reason }, 'a probe got through: the gate of a provider config is half open');
	await wakeGates(db.pool, [configId]);
}
