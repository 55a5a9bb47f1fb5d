import { expect, test } from '@jest/globals';
import { continueTrace, readTraceparent, writeTraceparent } from './trace.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

test('a traceparent is continued under the same trace by a step of its own', () => {
	const { traceId, traceparent } = continueTrace(`00-${TRACE}-${SPAN}-01`);
	expect(traceId).toBe(TRACE);
	expect(traceparent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
	expect(traceparent).not.toContain(SPAN);
});

test('what the caller does not sample stays unsampled, and other flags are dropped', () => {
	expect(continueTrace(`00-${TRACE}-${SPAN}-00`).traceparent).toMatch(/-00$/);
	expect(continueTrace(`00-${TRACE}-${SPAN}-03`).traceparent).toMatch(/-01$/);
});

test('a later version is read by what it has in common with ours', () => {
	expect(readTraceparent(`cc-${TRACE}-${SPAN}-01-what-comes-later`)).toEqual({ traceId: TRACE, spanId: SPAN, sampled: true });
});

test.each([
	['nothing', undefined],
	['an empty text', ''],
	['no trace id', `00-${'0'.repeat(32)}-${SPAN}-01`],
	['no parent id', `00-${TRACE}-${'0'.repeat(16)}-01`],
	['capital letters', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
	['the version that is none', `ff-${TRACE}-${SPAN}-01`],
	['more than version 00 holds', `00-${TRACE}-${SPAN}-01-x`],
	['a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`],
])('%s begins a trace, sampled', (_, header) => {
	expect(readTraceparent(header)).toBeNull();
	const begun = continueTrace(header);
	expect(begun.traceId).toMatch(/^[0-9a-f]{32}$/);
	expect(begun.traceId).not.toBe(TRACE);
	expect(begun.traceparent).toMatch(new RegExp(`^00-${begun.traceId}-[0-9a-f]{16}-01$`));
});

test('what is written is read back', () => {
	const context = { traceId: TRACE, spanId: SPAN, sampled: false };
	expect(readTraceparent(writeTraceparent(context))).toEqual(context);
});
