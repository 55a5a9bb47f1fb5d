import { closeGates, type GateClosing, type GateError } from '@tidings/db';
import { monotonic, now, type Refusal } from '@tidings/model';
import { channelLabel } from '@tidings/telemetry';
import type { DeliveryContext } from './context.js';
import { secondsLeft } from './hand-back-messages.js';

/** Closes gates; answers those that this call has closed. A config may be named more than once: its first closing counts. */
export async function closeAll(context: DeliveryContext, closings: readonly GateClosing[]): Promise<ReadonlySet<string>> {
	if (closings.length === 0) return new Set();
	const { db, log, metrics, provider, persist } = context;
	const first = new Map([...closings].reverse().map((one) => [one.configId, one]));
	const began = monotonic();
	const lasting = (one: GateClosing): GateClosing => ({ ...one, seconds: one.seconds === null ? null : secondsLeft(one.seconds, began) });
	const closed = await persist(() => closeGates(db.pool, [...first.values()].map(lasting), context));
	for (const { configId, tenantId } of closed) {
		const closing = first.get(configId);
		if (closing === undefined) continue;
		const { reason, seconds, error } = closing;
		metrics.gateChangesTotal.inc({ channel: channelLabel(provider.channel), provider: provider.name, state: 'closed', reason });
		const answer =
			error === null ? {} : { category: error.category, stage: error.stage, code: error.code, enhancedCode: error.enhancedCode };
		log[reason === 'RATE' ? 'info' : 'warn'](
			{ configId, tenantId, reason, seconds, ...answer },
			'the gate of a provider config was closed',
		);
	}
	return new Set(closed.map((one) => one.configId));
}

/** A refusal as a gate keeps it. What looks like an address is taken out: a gate is shown to people who may not read messages. */
export function gateError({ category, stage, code, enhancedCode, text }: Refusal, recordId: string | null): GateError {
	return { at: now().toISOString(), recordId, category, stage, code, enhancedCode, text: text.replace(ADDRESS, '•••') };
}

/** A local part may be quoted, and may hold an apostrophe (RFC 5321 §4.1.2). */
const ADDRESS = /(?:"[^"]{1,320}"|[^\s<>()",;:@]{1,320})@[^\s<>()"',;@]{1,320}/g;
