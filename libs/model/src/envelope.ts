import { isUuid } from './ids.js';

/** What a topic message carries, and nothing else. */
export type Envelope = { readonly recordId: string; readonly tenantId: string; readonly traceId: string };

/** The envelope as it goes over the wire. */
export function encodeEnvelope(envelope: Envelope): Buffer {
	return Buffer.from(JSON.stringify({ v: 1, recordId: envelope.recordId, tenantId: envelope.tenantId, traceId: envelope.traceId }));
}

/** Reads an envelope; a string says what is wrong with it. */
export function decodeEnvelope(payload: Uint8Array): Envelope | string {
	let value: unknown;
	try {
		value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
	} catch {
		return 'not JSON';
	}
	if (typeof value !== 'object' || value === null) return 'not an object';
	const { v, recordId, tenantId, traceId } = value as Record<string, unknown>;
	if (v !== 1) return 'unknown version';
	if (typeof recordId !== 'string' || !isUuid(recordId)) return 'recordId is not a UUID';
	if (typeof tenantId !== 'string' || !isUuid(tenantId)) return 'tenantId is not a UUID';
	if (typeof traceId !== 'string' || !/^[0-9a-f]{32}$/.test(traceId)) return 'traceId is not a trace id';
	return { recordId, tenantId, traceId };
}
