import { isForNumber } from '@tidings/delivery';
import { monotonic, type Outcome, type RecipientOutcome } from '@tidings/model';
import type { SmtpMail } from './mail.js';

/** With less time left the rest is another attempt's. */
const LEAST_MS = 1_000;

/**
 * Sends a mail in as many transactions as the server needs: whom it refuses only because there were too many before (452 at RCPT, RFC 5321 §4.5.3.1.10) goes
 * into a new one at once, as long as each takes somebody and `deadlineMs`, for all together, is not over. `transact` runs one within the milliseconds that are left, and never rejects.
 */
export async function sendRest(
	mail: SmtpMail,
	deadlineMs: number,
	transact: (mail: SmtpMail, deadlineMs: number) => Promise<Outcome>,
): Promise<Outcome> {
	const began = monotonic();
	let whole = await transact(mail, deadlineMs);
	for (let last = whole; ; ) {
		const rest = restOf(last);
		const leftMs = deadlineMs - (monotonic() - began);
		if (rest.size === 0 || leftMs < LEAST_MS) return whole;
		last = await transact({ ...mail, recipients: mail.recipients.map((one) => ({ ...one, open: rest.has(one.n) })) }, leftMs);
		whole = join(whole, last, rest);
	}
}

/** Who is to go into a new transaction; nobody when this one has not taken anybody. */
function restOf(outcome: Outcome): ReadonlySet<number> {
	if (outcome.kind !== 'answered' || !outcome.recipients.some((one) => one.kind === 'accepted')) return new Set();
	return new Set(
		outcome.recipients.filter((one) => one.kind === 'refused' && one.stage === 'RCPT' && isForNumber(one)).map((one) => one.n),
	);
}

/** What all transactions came to; `rest` was in the later one. One that sent nothing, for the mark was lost or the sender stops, leaves standing what the earlier ones said. */
function join(earlier: Outcome, later: Outcome, rest: ReadonlySet<number>): Outcome {
	if (earlier.kind !== 'answered' || later.kind === 'withheld' || later.kind === 'given-back') return earlier;
	if (later.kind === 'answered') return { ...earlier, recipients: replace(earlier.recipients, later.recipients) };
	const known = [...earlier.recipients.filter((one) => !rest.has(one.n)), ...(later.known ?? [])];
	return { ...later, known: known.sort((a, b) => a.n - b.n) };
}

function replace(outcomes: readonly RecipientOutcome[], by: readonly RecipientOutcome[]): RecipientOutcome[] {
	const newer = new Map(by.map((one) => [one.n, one]));
	return outcomes.map((one) => newer.get(one.n) ?? one);
}
