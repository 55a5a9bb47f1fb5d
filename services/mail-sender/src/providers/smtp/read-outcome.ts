import { classifySmtp, cleanText, parseReply } from '@tidings/delivery';
import type { Outcome, RecipientOutcome, Refusal, Stage } from '@tidings/model';
import type { NodemailerError, SMTPSentMessageInfo } from 'nodemailer';
import { unfit } from './compose.js';
import type { HandOver, SentEnvelope } from './hand-over.js';
import type { StageWatch } from './stage-watch.js';

/** The outcome of a mail that the server took. */
export function readSuccess(handOver: HandOver, info: Pick<SMTPSentMessageInfo, 'response' | 'serverMessageId'>): Outcome {
	if (!handOver.ended) return refuseAll(handOver, unfit('DATA', 'EPROTO', 'The server answered before it had the whole mail.'));
	const { hide } = handOver;
	const { code, enhancedCode, text } = parseReply(hide(info.response));
	const named = info.serverMessageId === undefined ? undefined : hide(info.serverMessageId);
	return {
		kind: 'answered',
		recipients: perRecipient(handOver, rejectedIn(handOver), (n) => ({ n, kind: 'accepted', code, enhancedCode, text })),
		providerMessageId: named ?? /\b(?:queued as|id=)\s*([\w.-]{1,100})/i.exec(text)?.[1] ?? null,
	};
}

/** The outcome of a mail that the library could not send. */
export function readFailure(handOver: HandOver, error: NodemailerError, watch: StageWatch): Outcome {
	if (handOver.unsent !== null) return { kind: handOver.unsent };
	if (handOver.utf8Missing)
		return refuseAll(handOver, unfit('MAIL', 'ENOSMTPUTF8', 'The server does not take addresses beyond ASCII (SMTPUTF8).'));
	const { refusal, ambiguous, aboutAddress } = readError(error, watch, handOver);
	if (handOver.ended && ambiguous) return leaveOpen(handOver, refusal);
	// After the dot the answer is about all that RCPT took: whose address is meant is known only when there is one.
	const blames = aboutAddress && handOver.composed.addressed.length - rejectedIn(handOver).length === 1;
	return refuseAll(handOver, blames ? { ...refusal, aboutAddress: true } : refusal);
}

/** An error of the library as a refusal, by where the conversation stood. `ended`: all of a mail was given away. */
export function readError(
	error: NodemailerError,
	watch: StageWatch,
	{ ended, hide }: Pick<HandOver, 'ended' | 'hide'>,
): { refusal: Refusal; ambiguous: boolean; aboutAddress: boolean } {
	const stage = ended ? 'DOT' : stageOf(error, watch);
	const reply = error.response === undefined ? null : parseReply(hide(error.response));
	const whole = reply !== null && reply.code !== null;
	const text = whole ? reply.text : cleanText(hide(error.message));
	const code = whole ? reply.code : null;
	const enhancedCode = whole ? reply.enhancedCode : null;
	const { category, ambiguous, aboutAddress } = classifySmtp({ stage, code, enhancedCode, text, errno: errnoOf(error) });
	return { refusal: { category, stage, code, enhancedCode, text }, ambiguous, aboutAddress };
}

/** Nobody knows what became of the mail, but whom RCPT refused did not get it. */
function leaveOpen(handOver: HandOver, refusal: Refusal): Outcome {
	const known = knownNos(handOver, rejectedIn(handOver));
	return known.length === 0 ? { kind: 'ambiguous', ...refusal } : { kind: 'ambiguous', ...refusal, known };
}

/** The outcome of a mail whose time was over at this stage. */
export function readTimeout(handOver: HandOver, stage: Stage, deadlineMs: number): Outcome {
	const at = handOver.ended ? 'DOT' : stage;
	const refusal = unfit(at, 'ETIMEDOUT', `The attempt was not over within ${deadlineMs / 1_000} s.`);
	return handOver.ended ? leaveOpen(handOver, refusal) : refuseAll(handOver, refusal);
}

/** The same refusal for everyone who was addressed, but for those whom RCPT had refused already. */
export function refuseAll(handOver: HandOver, refusal: Refusal): Outcome {
	// With pipelining RCPT is answered even where MAIL was refused: then its answers say nothing about the recipients.
	const rejected = ['RCPT', 'DATA', 'DOT'].includes(refusal.stage) ? rejectedIn(handOver) : [];
	return {
		kind: 'answered',
		recipients: perRecipient(handOver, rejected, (n) => ({ n, kind: 'refused', ...refusal })),
		providerMessageId: null,
	};
}

type Rejected = NonNullable<SentEnvelope['rejectedErrors']>;

function rejectedIn(handOver: HandOver): Rejected {
	return handOver.envelope?.rejectedErrors ?? [];
}

function perRecipient(handOver: HandOver, rejected: Rejected, otherwise: (n: number) => RecipientOutcome): RecipientOutcome[] {
	const known = knownNos(handOver, rejected);
	const ns = new Set(known.map((one) => one.n));
	const others = handOver.composed.addressed.flatMap((one) => one.ns).filter((n) => !ns.has(n));
	return [...known, ...others.map(otherwise)].sort((a, b) => a.n - b.n);
}

/** Those whose address is none, and those whom RCPT refused. */
function knownNos(handOver: HandOver, rejected: Rejected): RecipientOutcome[] {
	const outcomes: RecipientOutcome[] = [...handOver.composed.refused];
	if (rejected.length === 0) return outcomes;
	for (const [index, { ns }] of handOver.composed.addressed.entries()) {
		const sent = handOver.envelope?.to[index];
		const no = rejected.find((one) => one.recipient === sent);
		const refusal = no === undefined ? null : refusedAtRcpt(handOver.hide(no.response ?? ''));
		if (refusal !== null) for (const n of ns) outcomes.push({ n, kind: 'refused', ...refusal });
	}
	return outcomes;
}

function refusedAtRcpt(response: string): Refusal {
	const { code, enhancedCode, text } = parseReply(response);
	const { category, aboutAddress } = classifySmtp({ stage: 'RCPT', code, enhancedCode, text, errno: null });
	const refusal: Refusal = { category, stage: 'RCPT', code, enhancedCode, text };
	return aboutAddress ? { ...refusal, aboutAddress: true } : refusal;
}

function stageOf(error: NodemailerError, watch: StageWatch): Stage {
	const command = error.command ?? 'CONN';
	if (command.startsWith('MAIL')) return 'MAIL';
	if (command.startsWith('RCPT')) return 'RCPT';
	if (command.startsWith('AUTH')) return 'AUTH';
	if (command === 'DATA') return 'DATA';
	if (command === 'EHLO' || command === 'HELO') return 'EHLO';
	if (command === 'STARTTLS') return 'TLS';
	if (error.code === 'EAUTH') return 'AUTH';
	if (error.code === 'ESTREAM') return 'DATA';
	// A 421 and a broken line both come as CONN, wherever they happen.
	return watch.stageOf(error) ?? (error.responseCode === 421 ? watch.lastClosed() : null) ?? 'CONN';
}

/** The library's names for what broke, in the words of the classification. */
function errnoOf(error: NodemailerError): string | null {
	switch (error.code) {
		case 'ECONNECTION':
			return 'ECONNRESET';
		case 'ETIMEDOUT':
			return 'timeoutType' in error && error.timeoutType === 'GREETING_TIMEOUT' ? 'ENOGREETING' : 'ETIMEDOUT';
		case 'ESOCKET':
			return error.originalCode ?? 'ECONNRESET';
		case 'EPROTOCOL':
			return 'EPROTO';
		case 'ETLS':
			return error.message.includes('closed unexpectedly') ? 'ECONNRESET' : 'ETLS';
		case 'EAUTH':
			return 'ENOCREDENTIALS';
		default:
			return error.code ?? null;
	}
}
