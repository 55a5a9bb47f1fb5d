import { classifySmtp, cleanText, isUnsure, parseReply } from '@tidings/delivery';
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
	const stage = stageOf(handOver, error, watch);
	const reply = error.response === undefined ? null : parseReply(handOver.hide(error.response));
	const whole = reply !== null && reply.code !== null;
	const text = whole ? reply.text : cleanText(handOver.hide(error.message));
	const code = whole ? reply.code : null;
	const enhancedCode = whole ? reply.enhancedCode : null;
	const category = classifySmtp({ stage, code, enhancedCode, text, errno: errnoOf(error) });
	const refusal: Refusal = { category, stage, code, enhancedCode, text };
	const clear = code !== null && /^[45]/.test(code) && !isUnsure(refusal);
	return handOver.ended && !clear ? { kind: 'ambiguous', ...refusal } : refuseAll(handOver, refusal);
}

/** The outcome of a mail whose time was over at this stage. */
export function readTimeout(handOver: HandOver, stage: Stage, deadlineMs: number): Outcome {
	const at = handOver.ended ? 'DOT' : stage;
	const refusal = unfit(at, 'ETIMEDOUT', `The attempt was not over within ${deadlineMs / 1_000} s.`);
	return handOver.ended ? { kind: 'ambiguous', ...refusal, category: 'UNKNOWN' } : refuseAll(handOver, refusal);
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
	const outcomes: RecipientOutcome[] = [...handOver.composed.refused];
	for (const [index, { ns }] of handOver.composed.addressed.entries()) {
		const sent = handOver.envelope?.to[index];
		const no = rejected.length === 0 ? undefined : rejected.find((one) => one.recipient === sent);
		const refusal = no === undefined ? null : refusedAtRcpt(handOver.hide(no.response ?? ''));
		for (const n of ns) outcomes.push(refusal === null ? otherwise(n) : { n, kind: 'refused', ...refusal });
	}
	return outcomes.sort((a, b) => a.n - b.n);
}

function refusedAtRcpt(response: string): Refusal {
	const { code, enhancedCode, text } = parseReply(response);
	const category = classifySmtp({ stage: 'RCPT', code, enhancedCode, text, errno: null });
	return { category, stage: 'RCPT', code, enhancedCode, text };
}

function stageOf(handOver: HandOver, error: NodemailerError, watch: StageWatch): Stage {
	if (handOver.ended) return 'DOT';
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
