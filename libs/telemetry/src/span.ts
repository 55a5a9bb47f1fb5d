import {
	type Context,
	context,
	type Span as OtelSpan,
	ROOT_CONTEXT,
	SpanKind,
	SpanStatusCode,
	TraceFlags,
	trace,
} from '@opentelemetry/api';
import { readTraceparent, VERSION, writeTraceparent } from '@tidings/model';

/** What a step says about itself; what is undefined is left out. Never an address, a content or a secret. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** What begins a step: its part in a conversation, and what is known about it by now. */
export type SpanOptions = { readonly kind: 'producer' | 'consumer' | 'client'; readonly attributes: SpanAttributes };

/** One step of a trace. While nothing is exported it records nothing and costs nothing, and its `traceparent` is that of its parent. */
export type Span = {
	/** For what goes on elsewhere under this step. */
	readonly traceparent: string;
	/** For log lines; undefined while nothing is exported. */
	readonly spanId: string | undefined;
	set(attributes: SpanAttributes): void;
	/** Points to a step that this one follows without being part of it. */
	link(traceparent: string): void;
	/** The step ended badly: `errorType` is a class of errors, of few values (`error.type`). */
	fail(errorType: string): void;
	/** Begins a step below this one. */
	child(name: string, options: SpanOptions): Span;
	/** Runs an act as a part of this step: log lines carry its ids until it ends. */
	run<Result>(act: () => Result): Result;
	end(): void;
};

const KINDS = { producer: SpanKind.PRODUCER, consumer: SpanKind.CONSUMER, client: SpanKind.CLIENT } as const;

let exporting = false;

/** Says whether spans are exported from now on. */
export function setTracing(on: boolean): void {
	exporting = on;
}

/** Whether spans are exported. */
export function isTracing(): boolean {
	return exporting;
}

/** Begins a step under a `traceparent` that came from elsewhere; one that is malformed begins a trace of its own. It must be ended. */
export function startSpan(name: string, parent: string, options: SpanOptions): Span {
	if (!exporting) return silent(parent);
	const given = readTraceparent(parent);
	if (given === null) return begin(name, ROOT_CONTEXT, options);
	const { traceId, spanId, sampled } = given;
	const spanContext = { traceId, spanId, traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
	return begin(name, trace.setSpanContext(ROOT_CONTEXT, spanContext), options);
}

/** The step that the caller is a part of; null while nothing is exported, or outside of any. */
export function currentSpan(): Span | null {
	if (!exporting) return null;
	const span = trace.getActiveSpan();
	return span === undefined ? null : wrap(span, context.active());
}

/** Trace and span of the step that the caller is a part of, for log lines; empty outside of any, and when that step has ended: then something outlived it. */
export function currentIds(): { traceId?: string; spanId?: string } {
	if (!exporting) return {};
	const span = trace.getActiveSpan();
	if (span === undefined || !span.isRecording()) return {};
	const { traceId, spanId } = span.spanContext();
	return { traceId, spanId };
}

/** Runs what serves several steps at once, so that none of them takes it for its own. */
export function detached<Result>(act: () => Result): Result {
	return exporting ? context.with(ROOT_CONTEXT, act) : act();
}

function begin(name: string, parent: Context, { kind, attributes }: SpanOptions): Span {
	const span = trace.getTracer('tidings', VERSION).startSpan(name, { kind: KINDS[kind], attributes }, parent);
	return wrap(span, trace.setSpan(parent, span));
}

function wrap(span: OtelSpan, inside: Context): Span {
	return {
		get traceparent() {
			return traceparentOf(span);
		},
		get spanId() {
			return span.spanContext().spanId;
		},
		set: (attributes) => {
			span.setAttributes(attributes);
		},
		link: (traceparent) => {
			const first = readTraceparent(traceparent);
			if (first === null) return;
			const { traceId, spanId, sampled } = first;
			span.addLink({ context: { traceId, spanId, traceFlags: sampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true } });
		},
		fail: (errorType) => {
			span.setAttribute('error.type', errorType);
			span.setStatus({ code: SpanStatusCode.ERROR });
		},
		child: (name, options) => begin(name, inside, options),
		run: (act) => context.with(inside, act),
		end: () => span.end(),
	};
}

function traceparentOf(span: OtelSpan): string {
	const { traceId, spanId, traceFlags } = span.spanContext();
	return writeTraceparent({ traceId, spanId, sampled: (traceFlags & TraceFlags.SAMPLED) !== 0 });
}

function silent(traceparent: string): Span {
	const span: Span = {
		traceparent,
		spanId: undefined,
		set: nothing,
		link: nothing,
		fail: nothing,
		child: () => span,
		run: (act) => act(),
		end: nothing,
	};
	return span;
}

function nothing(): void {}
