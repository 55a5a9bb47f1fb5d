import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A span as it arrived. Kinds as OTLP numbers them: 2 SERVER, 3 CLIENT, 4 PRODUCER, 5 CONSUMER. Status 2 is an error. */
export type CollectedSpan = {
	readonly name: string;
	readonly kind: number;
	readonly traceId: string;
	readonly spanId: string;
	/** Empty: it has none. */
	readonly parentSpanId: string;
	readonly service: string;
	readonly status: number;
	readonly attributes: Readonly<Record<string, string | number | boolean>>;
	readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
	/** Milliseconds since 1970. */
	readonly start: number;
	readonly end: number;
};

/** A collector of traces on this machine. */
export type OtlpCollector = {
	/** The variables that make a process export its spans here, in portions of no wait. */
	readonly env: Readonly<Record<string, string>>;
	readonly spans: readonly CollectedSpan[];
	/** Everything that came, as it came. */
	raw(): string;
	/** From now on requests are taken and not answered. */
	hang(): void;
	/** How many requests were not answered. */
	unanswered(): number;
	close(): Promise<void>;
};

/** Starts a collector that takes OTLP over HTTP in JSON. */
export async function startCollector(): Promise<OtlpCollector> {
	const bodies: string[] = [];
	const spans: CollectedSpan[] = [];
	let hanging = false;
	let unanswered = 0;
	const server = createServer((request, response) => {
		text(request).then(
			(body) => {
				if (hanging) {
					unanswered += 1;
					return;
				}
				bodies.push(body);
				spans.push(...spansIn(JSON.parse(body)));
				response.setHeader('content-type', 'application/json').end('{}');
			},
			() => response.destroy(),
		);
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const { port } = server.address() as AddressInfo;
	return {
		env: {
			OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
			OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
			OTEL_BSP_SCHEDULE_DELAY: '50',
		},
		spans,
		raw: () => bodies.join('\n'),
		hang: () => {
			hanging = true;
		},
		unanswered: () => unanswered,
		close: async () => {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
			// A client in this process hears of it in its next turn.
			await new Promise((resolve) => setTimeout(resolve));
		},
	};
}

/** OTLP's JSON, as far as it is read here. */
type Value = { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean };
type Pairs = readonly { key: string; value: Value }[];
type Body = {
	resourceSpans: {
		resource: { attributes: Pairs };
		scopeSpans: {
			spans: {
				name: string;
				kind: number;
				traceId: string;
				spanId: string;
				parentSpanId?: string;
				startTimeUnixNano: string;
				endTimeUnixNano: string;
				attributes: Pairs;
				links?: { traceId: string; spanId: string }[];
				status?: { code?: number };
			}[];
		}[];
	}[];
};

function spansIn(body: Body): CollectedSpan[] {
	return body.resourceSpans.flatMap(({ resource, scopeSpans }) =>
		scopeSpans
			.flatMap((scope) => scope.spans)
			.map((span) => ({
				name: span.name,
				kind: span.kind,
				traceId: span.traceId,
				spanId: span.spanId,
				parentSpanId: span.parentSpanId ?? '',
				service: String(record(resource.attributes)['service.name']),
				status: span.status?.code ?? 0,
				attributes: record(span.attributes),
				links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
				start: Number(BigInt(span.startTimeUnixNano) / 1_000n) / 1_000,
				end: Number(BigInt(span.endTimeUnixNano) / 1_000n) / 1_000,
			})),
	);
}

function record(pairs: Pairs): Record<string, string | number | boolean> {
	return Object.fromEntries(
		pairs.map(({ key, value }) => [key, value.stringValue ?? value.boolValue ?? value.doubleValue ?? Number(value.intValue)]),
	);
}
