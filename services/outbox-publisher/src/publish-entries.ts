import type { Broker, PublishResult } from '@tidings/broker';
import { type Db, giveBackEntries, markPublished, putOffFlows, refuseEntries, type TakenEntry, wakeFlows } from '@tidings/db';
import { encodeEnvelope, type Lane, monotonic, type Route, topicOf } from '@tidings/model';
import { type Logger, type Metrics, messagingAttributes, type Span, startSpan } from '@tidings/telemetry';
import type { TopicKeeper } from './keep-topics.js';
import type { WarnOfRoute } from './warn-of-route.js';

/** What publishing needs. */
export type PublishContext = {
	readonly db: Db;
	readonly broker: Broker;
	readonly log: Logger;
	readonly metrics: Metrics;
	/** Seconds after which a published entry that nobody claimed is published again. */
	readonly healSeconds: number;
	/** The broker's kind as traces show it. */
	readonly messagingSystem: string;
	readonly warnOfRoute: WarnOfRoute;
	readonly topics: Pick<TopicKeeper, 'turn' | 'missing' | 'rest'>;
	/** When the broker last confirmed anything on a topic, by the monotonic clock: without it a refusal is no fact about the message. */
	readonly confirmedAt: Map<string, number>;
};

/** Flows whose messages could not be published for lack of a broker or a topic rest at most this long before they are tried again. */
const REST_SECONDS = 5;
/** A refusal counts against its entry while the topic confirmed another within this time. */
const CONFIRMED_WITHIN_MS = 60_000;

/** Publishes entries that were taken under one lease, pipelined, and writes down what the broker answered to each. Returns false when the broker is away. */
export async function publishEntries(context: PublishContext, entries: readonly TakenEntry[]): Promise<boolean> {
	const [first] = entries;
	if (first === undefined) return true;
	// failpoint: taken
	const began = monotonic();
	const turn = context.topics.turn();
	const spans = entries.map((entry) => startSend(context, entry));
	const results = await context.broker.publish(
		entries.map((entry, index) => ({
			topic: topicOf(entry.route, entry.lane),
			payload: encodeEnvelope({ ...entry, recordId: entry.id }),
			properties: { traceparent: spans[index]?.traceparent ?? entry.traceparent },
		})),
	);
	// failpoint: published
	const seconds = (monotonic() - began) / 1000;
	const answered = entries.map((entry, index): Answered => ({ entry, result: results[index] ?? { kind: 'away', reason: 'no answer' } }));
	for (const [index, { entry, result }] of answered.entries()) {
		endSend(spans[index], result);
		const route = entry.route as Route;
		context.metrics.outboxPublishDurationSeconds.observe({ route }, seconds);
		if (result.kind === 'confirmed') context.confirmedAt.set(topicOf(entry.route, entry.lane), monotonic());
	}
	const confirmed = answered.filter((one) => one.result.kind === 'confirmed');
	const refused = answered.filter((one) => one.result.kind === 'refused' && countsAgainst(context, one.entry));
	const unavailable = answered.filter((one) => !confirmed.includes(one) && !refused.includes(one));
	await Promise.all([
		confirm(context, confirmed, first.lease),
		refuse(context, refused, first.lease),
		giveBack(context, unavailable, { lease: first.lease, turn }),
	]);
	return !answered.some((one) => one.result.kind === 'away');
}

/** The step that publishes an entry: what comes of the message hangs under it. */
function startSend({ messagingSystem: system }: PublishContext, { id: recordId, tenantId, route, lane, traceparent }: TakenEntry): Span {
	const topic = topicOf(route, lane);
	const attributes = messagingAttributes({ system, operation: 'send', topic, recordId, tenantId });
	return startSpan(`send ${topic}`, traceparent, { kind: 'producer', attributes });
}

function endSend(span: Span | undefined, result: PublishResult): void {
	if (result.kind !== 'confirmed') span?.fail(result.kind);
	span?.end();
}

type Answered = { readonly entry: TakenEntry; readonly result: PublishResult };

function countsAgainst(context: PublishContext, entry: TakenEntry): boolean {
	const at = context.confirmedAt.get(topicOf(entry.route, entry.lane));
	return at !== undefined && monotonic() - at < CONFIRMED_WITHIN_MS;
}

const idsOf = (answered: readonly Answered[]): string[] => answered.map((one) => one.entry.id);
const flowsOf = (answered: readonly Answered[]): string[] => [...new Set(answered.map((one) => one.entry.flowId))];

async function confirm(context: PublishContext, confirmed: readonly Answered[], lease: string): Promise<void> {
	if (confirmed.length === 0) return;
	await markPublished(context.db.pool, { ids: idsOf(confirmed), lease }, context.healSeconds);
	for (const { entry } of confirmed) {
		context.metrics.outboxPublishedTotal.inc({ route: entry.route as Route, lane: entry.lane as Lane });
		context.metrics.outboxLagSeconds.observe({ route: entry.route as Route }, entry.lagSeconds);
	}
}

async function refuse(context: PublishContext, refused: readonly Answered[], lease: string): Promise<void> {
	if (refused.length === 0) return;
	const dead = new Set(await refuseEntries(context.db.pool, { ids: idsOf(refused), lease }));
	await wakeFlows(
		context.db.pool,
		flowsOf(refused).map((flowId) => ({ flowId, dueAt: null })),
	);
	for (const { entry, result } of refused) {
		context.metrics.outboxPublishFailuresTotal.inc({ route: entry.route as Route, reason: 'refused' });
		const facts = {
			recordId: entry.id,
			tenantId: entry.tenantId,
			traceId: entry.traceId,
			refusals: entry.refusals + 1,
			reason: result.kind === 'refused' ? result.reason : '',
		};
		if (dead.has(entry.id))
			context.log.error(facts, 'outbox entry is DEAD: the broker refused it ten times; requeue it by hand once the reason is mended');
		else context.log.warn(facts, 'the broker refused an outbox entry');
	}
}

/** Through no fault of the entries: nothing is counted against them, and their flows rest until the broker is back or the topic is made, so that an outage makes no busy loop. */
async function giveBack(context: PublishContext, unavailable: readonly Answered[], at: { lease: string; turn: number }): Promise<void> {
	if (unavailable.length === 0) return;
	if (unavailable.some((one) => one.result.kind === 'no-topic')) context.topics.missing();
	await giveBackEntries(context.db.pool, { ids: idsOf(unavailable), lease: at.lease });
	const flows = flowsOf(unavailable);
	await putOffFlows(context.db.pool, flows, REST_SECONDS);
	context.topics.rest(flows, at.turn);
	for (const { entry, result } of unavailable) {
		const missing = result.kind === 'no-topic';
		context.metrics.outboxPublishFailuresTotal.inc({ route: entry.route as Route, reason: missing ? 'no_topic' : 'outage' });
		context.warnOfRoute(
			entry.route,
			missing ? `topic ${topicOf(entry.route, entry.lane)} does not exist` : result.kind === 'confirmed' ? '' : result.reason,
		);
	}
}
