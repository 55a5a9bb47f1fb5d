import { createPrivateKey } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Outcome, Refusal } from '@tidings/model';
import { createTransport, type NodemailerError, type SMTPPoolOptions, type SMTPTransportOptions } from 'nodemailer';
import { composeMail, unfit } from './compose.js';
import { dial, type HostAnswer } from './dial.js';
import { followHandOver, newHandOver } from './hand-over.js';
import { createHide } from './hide-login.js';
import type { SmtpMail } from './mail.js';
import { readError, refuseAll } from './read-outcome.js';
import { type SendContext, sendOnce } from './send-once.js';
import { sendRest } from './send-rest.js';
import { type StageWatch, watchStages } from './stage-watch.js';

/** One version of a mail server's settings, with its secrets opened. */
export type SmtpConfig = {
	/** As the tenant wrote it; also the name that the certificate must be for. */
	readonly host: string;
	readonly port: number;
	/** `none` never encrypts, `starttls` sends nothing before the line is encrypted, `tls` encrypts from the first byte. */
	readonly security: 'none' | 'starttls' | 'tls';
	/** Credentials; null sends without logging in. With them a server that offers no log-in is refused, not used without. */
	readonly auth: { readonly user: string; readonly password: string } | null;
	/** Signs each mail (RFC 6376); the key is PEM. Null does not sign. */
	readonly dkim: { readonly domain: string; readonly selector: string; readonly privateKey: string } | null;
	/** Connections at most, and so mails at once. */
	readonly slots: number;
};

/** What the transport is given from outside. Times in milliseconds. */
export type SmtpTransportOptions = {
	/** Looks a host up and says which of its addresses may be dialled; asked for each new connection. */
	resolveHost(host: string): Promise<HostAnswer>;
	readonly log: { warn(fields: object, message: string): void };
	/** For the look-up and the connection; 5,000 when absent. */
	readonly connectMs?: number;
	/** For each answer of the server; 30,000 when absent. */
	readonly readMs?: number;
	/** For one `send` as a whole; 90,000 when absent. */
	readonly deadlineMs?: number;
	/** Trust roots (PEM) in place of the platform's own. */
	readonly ca?: string;
};

/** A pool of connections to one mail server. */
export type SmtpTransport = {
	/**
	 * Sends one mail to its open recipients. Never rejects: each "no" is an outcome. `begin` is awaited once, after the server's 354
	 * and before the first byte; when it gives false nothing is sent and the outcome is `withheld`, and when it rejects, `given-back`. When `stop` is
	 * aborted before the last byte was given away, nothing is sent either and the outcome is `given-back`.
	 */
	send(mail: SmtpMail, begin?: () => Promise<boolean>, stop?: AbortSignal): Promise<Outcome>;
	/**
	 * Connects, encrypts, logs in and takes its leave, without a mail, on a connection of its own. Null: the server lets us in. Never rejects, and is over within the deadline
	 * whatever the server does, or as soon as `stop` is aborted.
	 */
	probe(stop?: AbortSignal): Promise<Refusal | null>;
	/** Takes no more mail, waits for those that are under way, and closes every connection. `abandon`: nobody waits for an answer any more, so connections in use are cut. */
	close(abandon?: boolean): Promise<void>;
};

const CONNECT_MS = 5_000;
const READ_MS = 30_000;
const DEADLINE_MS = 90_000;
/** Servers end a session after some hundred mails; a fresh one now and then also follows a changed address. */
const MAILS_PER_CONNECTION = 500;
/** Shorter than servers wait, so that a connection rarely dies in the middle of being used again. */
const IDLE_MS = 60_000;
/** A closing connection waits this long for the server to close its side. */
const CLOSE_MS = 1_000;

/** Opens a pool for one config. Nothing is dialled before the first mail. */
export function openTransport(config: SmtpConfig, options: SmtpTransportOptions): SmtpTransport {
	const watch = watchStages(config.security);
	const sockets = new Map<number, Socket>();
	const mailer = createTransport(poolOptions(config, connectionOptions(config, options, watch, sockets)));
	mailer.use('stream', followHandOver(watch, config.dkim !== null));
	const context: SendContext = {
		mailer,
		watch,
		deadlineMs: options.deadlineMs ?? DEADLINE_MS,
		cut: (localPort) => {
			if (localPort !== null) sockets.get(localPort)?.destroy();
		},
		late: (what) => options.log.warn({ host: config.host, what }, 'an answer came after the outcome and was dropped'),
	};
	const fault = configFault(config);
	const hide = createHide(config.auth);
	const underWay = new Set<Promise<Outcome>>();
	let closing = false;

	const transact = async (
		mail: SmtpMail,
		within: SendContext,
		{ begin, stop }: { begin: (() => Promise<boolean>) | undefined; stop: AbortSignal | undefined },
	): Promise<Outcome> => {
		const composed = composeMail(mail);
		if ('category' in composed) return refuseOpen(mail, composed);
		const handOver = newHandOver(composed, begin ?? null, hide);
		if (composed.addressed.length === 0) return { kind: 'answered', recipients: composed.refused, providerMessageId: null };
		return fault === null ? await sendOnce(handOver, within, stop) : refuseAll(handOver, fault);
	};
	const send = async (mail: SmtpMail, begin?: () => Promise<boolean>, stop?: AbortSignal): Promise<Outcome> => {
		if (closing) return refuseOpen(mail, unfit('CONFIG', 'ECLOSED', 'The sender is closing its connections.'));
		const outcome = sendRest(mail, context.deadlineMs, (rest, deadlineMs) => transact(rest, { ...context, deadlineMs }, { begin, stop }));
		underWay.add(outcome);
		try {
			return await outcome;
		} finally {
			underWay.delete(outcome);
		}
	};
	const close = async (abandon = false): Promise<void> => {
		closing = true;
		if (!abandon) await Promise.all(underWay);
		else if (underWay.size > 0) for (const socket of sockets.values()) socket.destroy();
		mailer.close();
		await Promise.all([...sockets.values()].map((socket) => closed(socket)));
	};
	const probe = async (stop?: AbortSignal): Promise<Refusal | null> => {
		if (fault !== null) return fault;
		const [ownWatch, ownSockets] = [watchStages(config.security), new Map<number, Socket>()];
		const prober = createTransport(connectionOptions(config, options, ownWatch, ownSockets));
		const read = (error: NodemailerError): Refusal => readError(error, ownWatch, { ended: false, hide }).refusal;
		const verified = prober.verify().then(() => null, read);
		const refusal = await Promise.race([verified, tooLate(context.deadlineMs, stop)]);
		if (refusal !== null) for (const socket of ownSockets.values()) socket.destroy();
		return refusal;
	};
	return { send, probe, close };
}

function poolOptions(config: SmtpConfig, connection: SMTPTransportOptions): SMTPPoolOptions & { pool: true } {
	return {
		...connection,
		pool: true,
		...(config.dkim === null
			? {}
			: { dkim: { domainName: config.dkim.domain, keySelector: config.dkim.selector, privateKey: config.dkim.privateKey } }),
		maxConnections: config.slots,
		maxMessages: MAILS_PER_CONNECTION,
		maxRequeues: 2,
		idleTimeout: IDLE_MS,
	};
}

function connectionOptions(
	config: SmtpConfig,
	options: SmtpTransportOptions,
	watch: StageWatch,
	sockets: Map<number, Socket>,
): SMTPTransportOptions {
	const connectMs = options.connectMs ?? CONNECT_MS;
	const readMs = options.readMs ?? READ_MS;
	const tls = config.security === 'tls';
	return {
		host: config.host,
		port: config.port,
		secure: tls,
		ignoreTLS: config.security === 'none',
		requireTLS: config.security === 'starttls',
		tls: options.ca === undefined ? {} : { ca: options.ca },
		...(config.auth === null ? {} : { auth: { user: config.auth.user, pass: config.auth.password }, forceAuth: true }),
		// The look-up is pinned: the library gets a connection to a checked address, and the name only for the certificate.
		getSocket: (_, done) => {
			dial({ host: config.host, port: config.port, connectMs, resolveHost: options.resolveHost }).then(
				(socket) => {
					keep(sockets, socket);
					done(null, { connection: socket });
				},
				(error: Error) => done(error),
			);
		},
		// Counted from the dial to the end of STARTTLS: the greeting and the handshake have their own time each.
		connectionTimeout: connectMs + 3 * readMs,
		greetingTimeout: readMs,
		socketTimeout: readMs,
		socketCloseTimeout: CLOSE_MS,
		maxResponseSize: 65_536,
		disableFileAccess: true,
		disableUrlAccess: true,
		logger: watch.logger,
		transactionLog: true,
	};
}

/** What is said of a log-in that is not over in time, or that nobody waits for any more. */
function tooLate(ms: number, stop: AbortSignal | undefined): Promise<Refusal> {
	const time = AbortSignal.timeout(ms);
	const ends = stop === undefined ? time : AbortSignal.any([time, stop]);
	return new Promise((resolve) => {
		const end = (): void => resolve(unfit('CONN', 'ETIMEDOUT', `The log-in was not over within ${ms / 1_000} s.`));
		if (ends.aborted) end();
		else ends.addEventListener('abort', end, { once: true });
	});
}

/** A config that can send nothing says so at each mail, before anything is dialled. */
function configFault(config: SmtpConfig): Refusal | null {
	// In AUTH PLAIN a NUL parts the fields (RFC 4616).
	if (config.auth !== null && /[\r\n\0]/.test(config.auth.user + config.auth.password)) {
		return unfit('CONFIG', 'EBADCONFIG', 'The user name or the password of this mail server holds a line break or NUL.');
	}
	if (config.dkim === null) return null;
	try {
		createPrivateKey(config.dkim.privateKey);
		return null;
	} catch {
		return unfit('CONFIG', 'EBADCONFIG', 'The DKIM private key of this mail server cannot be read.');
	}
}

function refuseOpen(mail: SmtpMail, refusal: Refusal): Outcome {
	const open = mail.recipients.filter((one) => one.open);
	return { kind: 'answered', recipients: open.map(({ n }) => ({ n, kind: 'refused', ...refusal })), providerMessageId: null };
}

function keep(sockets: Map<number, Socket>, socket: Socket): void {
	const { localPort } = socket;
	if (localPort === undefined) return;
	sockets.set(localPort, socket);
	socket.once('close', () => {
		if (sockets.get(localPort) === socket) sockets.delete(localPort);
	});
}

function closed(socket: Socket): Promise<void> {
	return new Promise((resolve) => {
		if (socket.destroyed) return resolve();
		socket.once('close', () => resolve());
	});
}
