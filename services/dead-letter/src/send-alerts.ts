import { type Alert, acceptBatch, beginAlerts, type Db, endAlert, listAlerts, tellWarnings, wakeFlows } from '@tidings/db';
import { type MonthlyCaps, NO_CAPS } from '@tidings/model';
import type { Logger, Metrics } from '@tidings/telemetry';
import { composeAlert } from './compose-alert.js';
import { findAlertServer } from './find-alert-server.js';

/** What telling operators needs. */
export type AlertOptions = {
	readonly db: Db;
	readonly log: Logger;
	readonly metrics: Metrics;
	/** Nobody: nothing is told, and nothing counts as told. */
	readonly recipients: readonly string[];
	/** A letter is told of when it is so old; default 15 s. */
	readonly settleSeconds?: number;
	/** A cause is told of at most once in so many seconds; default 15 minutes. */
	readonly everySeconds?: number;
	/** The monthly caps of whom nothing is set for, also of the platform; default: none. Such mails count, but are never refused for a quota. */
	readonly caps?: MonthlyCaps;
};

const SETTLE_SECONDS = 15;
const EVERY_SECONDS = 15 * 60;

/**
 * Tells operators of new dead letters: one mail for each cause (source and category), accepted as a record of the platform's tenant. What is to be told is marked first and the mail has a
 * dedupe key of its own, so that a crash in between neither swallows it nor sends it twice. Throws when a mail cannot be accepted: its mark stays, and the next run tries again.
 */
export async function sendAlerts(options: AlertOptions): Promise<void> {
	const { db, recipients, settleSeconds = SETTLE_SECONDS, everySeconds = EVERY_SECONDS } = options;
	if (recipients.length === 0) return;
	await beginAlerts(db.pool, { settleSeconds, everySeconds });
	const alerts = await listAlerts(db.pool);
	if (alerts.length === 0) return;
	for (const alert of alerts) {
		// All were closed meanwhile: there is nothing to do for anybody.
		if (alert.fresh === 0 || (await tell(options, alert))) await endAlert(db.pool, alert);
	}
}

/** Whether the mail is accepted, by whomever. Not, while another service is about to accept it. */
async function tell({ db, log, metrics, recipients, caps = NO_CAPS }: AlertOptions, alert: Alert): Promise<boolean> {
	const server = await findAlertServer(db);
	if (server === null)
		throw new Error(
			'operators cannot be told of dead letters: the platform has no active default mail server. Make one with a key of the platform (docs/operations.md, "A mail server for the alerts")',
		);
	const record = { ...composeAlert(alert, { server, recipients }), flowId: server.flowId };
	// A quota that is used up is one more thing that operators must hear of.
	const {
		results: [result],
		warnings,
	} = await acceptBatch(db.pool, [{ records: [record], idempotency: null }], { caps, beyond: true });
	tellWarnings(warnings, { log, metrics });
	if (result?.kind === 'in-flight') return false;
	if (result?.kind !== 'accepted') throw new Error(`a mail about dead letters was not accepted: ${result?.kind ?? 'no answer'}`);
	if (result.deduplicated.length > 0) return true;
	metrics.deadLetterAlertsTotal.inc({ source: alert.source });
	log.info(
		{ source: alert.source, category: alert.category, fresh: alert.fresh, recordId: record.id },
		'operators are told of dead letters',
	);
	await wakeFlows(db.pool, [{ flowId: server.flowId, dueAt: null }]);
	return true;
}
