import { randomBytes } from './ids.js';

/** Where a request stands in its trace (W3C Trace Context). */
export type Trace = { readonly traceId: string; readonly traceparent: string };

/** Continues the trace of a `traceparent` header, or begins one when there is none or it is malformed (W3C Trace Context §3.2). */
export function continueTrace(header: string | undefined): Trace {
	const match = /^00-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})$/.exec(header ?? '');
	const given = match?.[1];
	const traceId = given !== undefined && !/^0+$/.test(given) ? given : hex(16);
	const flags = given === traceId ? (match?.[2] ?? '01') : '01';
	return { traceId, traceparent: `00-${traceId}-${hex(8)}-${flags}` };
}

function hex(bytes: number): string {
	return Array.from(randomBytes(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
