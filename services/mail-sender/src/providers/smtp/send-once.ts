import type { Outcome } from '@tidings/model';
import type { NodemailerError, SendMailOptions, SMTPSentMessageInfo } from 'nodemailer';
import type { HandOver } from './hand-over.js';
import { readFailure, readSuccess, readTimeout } from './read-outcome.js';
import type { StageWatch } from './stage-watch.js';

/** What the library must be able to do. */
export type Mailer = {
	sendMail(options: SendMailOptions, done: (error: NodemailerError | null, info?: SMTPSentMessageInfo) => void): unknown;
};

/** What one attempt needs besides the mail. */
export type SendContext = {
	readonly mailer: Mailer;
	readonly watch: StageWatch;
	/** Milliseconds that the attempt may take, the wait for a connection included. */
	readonly deadlineMs: number;
	/** Told when the server has answered in the middle of the mail: what else is sent there would be read as commands. */
	cut(localPort: number | null): void;
	/** Told of an answer that came after the outcome. */
	late(what: string): void;
};

/**
 * Sends one mail and gives exactly one outcome, also when the library calls back never, twice, or throws. When `stop` is aborted before all of the mail was given to
 * the socket, its connection is closed and the outcome is `given-back`; afterwards it changes nothing.
 */
export function sendOnce(handOver: HandOver, context: SendContext, stop?: AbortSignal): Promise<Outcome> {
	const { mailer, watch, deadlineMs } = context;
	return new Promise((resolve) => {
		const abort = new AbortController();
		const settle = (outcome: Outcome): void => {
			handOver.over = true;
			clearTimeout(timer);
			stop?.removeEventListener('abort', giveBack);
			resolve(outcome);
		};
		const done = (error: NodemailerError | null, info?: SMTPSentMessageInfo): void => {
			if (handOver.over) {
				if (!abort.signal.aborted) context.late(error === null ? 'a second yes' : `a second no: ${error.code ?? error.name}`);
				return;
			}
			if (abort.signal.aborted) return;
			const early = !handOver.ended && (error === null || (error.code === 'EMESSAGE' && error.response !== undefined));
			settle(
				error === null && info !== undefined ? readSuccess(handOver, info) : readFailure(handOver, error ?? new Error('no answer'), watch),
			);
			if (early) {
				handOver.stream?.destroy();
				context.cut(watch.lastReplied());
			}
		};
		const breakOff = (): void => {
			// Closes the mail's connection before it returns; without one the mail was still waiting for it.
			abort.abort();
			handOver.stream?.destroy();
		};
		const giveBack = (): void => {
			if (handOver.ended || handOver.over) return;
			breakOff();
			settle({ kind: 'given-back' });
		};
		const timer = setTimeout(() => {
			watch.forgetClosed();
			breakOff();
			settle(readTimeout(handOver, watch.lastClosed() ?? 'CONN', deadlineMs));
		}, deadlineMs);
		stop?.addEventListener('abort', giveBack);
		try {
			mailer.sendMail(Object.assign(handOver.composed.options, { signal: abort.signal, handOver }), done);
		} catch (error) {
			done(error instanceof Error ? error : new Error(String(error)));
		}
	});
}
