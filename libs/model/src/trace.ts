import { randomBytes } from './ids.js';

/** Where a request stands in its trace (W3C Trace Context). */
export type Trace = { readonly traceId: string; readonly traceparent: string };

/** A `traceparent` taken apart: the trace, the step in it that others hang under, and whether that step was kept by its sampler. */
export type TraceContext = { readonly traceId: string; readonly spanId: string; readonly sampled: boolean };

/** Reads a `traceparent`, also one of a later version than ours; null when there is none or it is malformed (W3C Trace Context §3.2). */
export function readTraceparent(text: string | undefined): TraceContext | null {
	const match = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(text ?? '');
	if (match === null) return null;
	const [, version = '', traceId = '', spanId = '', flags = '', more] = match;
	if (version === 'ff' || (version === '00' && more !== undefined) || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
	return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Writes a `traceparent` of version 00. */
export function writeTraceparent({ traceId, spanId, sampled }: TraceContext): string {
	return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** Continues the trace of a `traceparent` header by a step of its own, or begins one when there is none or it is malformed. */
export function continueTrace(header: string | undefined): Trace {
	const given = readTraceparent(header);
	const traceId = given?.traceId ?? hex(16);
	return { traceId, traceparent: writeTraceparent({ traceId, spanId: hex(8), sampled: given?.sampled ?? true }) };
}

function hex(bytes: number): string {
	return Array.from(randomBytes(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
