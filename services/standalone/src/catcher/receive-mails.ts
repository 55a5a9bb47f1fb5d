import { once } from 'node:events';
import type { Logger } from '@tidings/telemetry';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerSession } from 'smtp-server';
import { listenProblem } from './listen-problem.js';
import type { MailStore } from './mail-store.js';

/** The largest mail that is taken, in bytes: 50 MB. */
export const MAIL_LIMIT_BYTES = 50_000_000;

const CLOSE_TIMEOUT_MS = 2_000;

/** So that whoever tries Tidings can see what a refused password leads to. */
const WRONG_PASSWORD = 'wrong';
const REFUSED_SIGN_IN = Object.assign(new Error('5.7.8 The password is wrong'), { responseCode: 535 });

/**
 * Listens for mails on 127.0.0.1 and keeps each one; the final dot is answered 250 only when the mail is on the disk, 552 when it is too
 * large, 452 when it cannot be kept. Any sign-in is accepted but one with the password `wrong`, none is needed. `port` 0 is any free one.
 */
export async function receiveMails(options: {
	store: MailStore;
	port: number;
	log: Logger;
}): Promise<{ port: number; close(): Promise<void> }> {
	const { store, log } = options;
	const server = new SMTPServer({
		name: 'tidings.localhost',
		banner: 'Tidings mail catcher: nothing leaves this machine',
		size: MAIL_LIMIT_BYTES,
		authOptional: true,
		allowInsecureAuth: true,
		disabledCommands: ['STARTTLS'],
		disableReverseLookup: true,
		closeTimeout: CLOSE_TIMEOUT_MS,
		onAuth: (auth, _session, answer) =>
			auth.password === WRONG_PASSWORD ? answer(REFUSED_SIGN_IN) : answer(null, { user: auth.username ?? 'anyone' }),
		onData(stream, session, answer) {
			takeMail(stream, session).then(
				(id) => answer(null, `OK: kept as ${id}`),
				(error) => answer(error),
			);
		},
	});

	async function takeMail(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<string> {
		const { mailFrom, rcptTo } = session.envelope;
		const envelope = { from: mailFrom === false ? '' : mailFrom.address, to: rcptTo.map((recipient) => recipient.address) };
		const kept = await store.keep(stream, envelope).catch((cause) => {
			log.warn({ err: cause }, 'a mail was not kept');
			throw Object.assign(new Error('Error: the mail cannot be kept now'), { responseCode: 452, cause });
		});
		if (kept !== 'too-large') return kept.id;
		throw Object.assign(new Error(`Error: the mail is larger than ${MAIL_LIMIT_BYTES} bytes`), { responseCode: 552 });
	}

	// A connection reset inside a mail arrives here, and would end the process unheard.
	server.on('error', (error) => log.debug({ err: error }, 'an SMTP connection broke'));
	const listener = server.listen(options.port, '127.0.0.1');
	await once(listener, 'listening').catch((cause) => {
		throw listenProblem({ cause, port: options.port, purpose: 'mails (SMTP)', flag: '--smtp-port' });
	});
	const address = listener.address();
	return {
		port: typeof address === 'object' && address !== null ? address.port : options.port,
		close: () => new Promise((resolve) => server.close(resolve)),
	};
}
