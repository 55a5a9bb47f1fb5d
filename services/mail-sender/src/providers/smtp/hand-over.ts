import { Readable } from 'node:stream';
import type { PluginFunction } from 'nodemailer';
import MimeNode from 'nodemailer/lib/mime-node';
import type { Composed } from './compose.js';
import type { Hide } from './hide-login.js';
import type { StageWatch } from './stage-watch.js';
import { writeWhole } from './write-whole.js';

/** How far one mail has come on its way into the socket. Made by `newHandOver`, changed while the library sends. */
export type HandOver = {
	readonly composed: Composed;
	/** Asked after the server's 354 and before the first byte; anything but true stops the mail. */
	readonly begin: (() => Promise<boolean>) | null;
	/** Takes the password out of what the server says. */
	readonly hide: Hide;
	/** Why nothing was sent: the hand-over mark was lost, or it could not be made. */
	unsent: 'withheld' | 'given-back' | null;
	/** All of the mail was given to the socket: from here on silence means that nobody knows. */
	ended: boolean;
	/** The outcome is settled; nothing more may be sent. */
	over: boolean;
	/** The server does not have the SMTPUTF8 that the mail needs. */
	utf8Missing: boolean;
	/** The library's own notes on this envelope: the addresses as sent, and what RCPT answered. */
	envelope: SentEnvelope | null;
	/** What the socket still reads from. */
	stream: Readable | null;
};

/** A composed mail with its hand-over. */
type Followed = MimeNode & { readonly handOver: HandOver; readonly signed: boolean };

/** Filled in by the library while it sends. */
export type SentEnvelope = {
	readonly to: readonly string[];
	readonly rejectedErrors?: readonly { readonly recipient?: string; readonly response?: string }[];
};

const SLICE = 65_536;

/** The state of a mail before anything happened. */
export function newHandOver(composed: Composed, begin: (() => Promise<boolean>) | null, hide: Hide = (text) => text): HandOver {
	let mark: Promise<boolean> | null = null;
	// A stale connection makes the library start again on another one; the mark is made already.
	const once = begin === null ? null : () => (mark ??= begin());
	return { composed, begin: once, hide, unsent: null, ended: false, over: false, utf8Missing: false, envelope: null, stream: null };
}

/**
 * The library's `stream` plugin that follows each mail into the socket. The mail's data carries its `handOver`.
 * `signed`: the library still adds a DKIM signature on the way.
 */
export function followHandOver(watch: StageWatch, signed: boolean): PluginFunction {
	return (mail, next) => {
		const { handOver } = mail.data as { handOver?: HandOver };
		const { message } = mail;
		if (handOver === undefined || !message) return next(new Error('a mail without its hand-over'));
		const envelope = message.getEnvelope();
		if (!isAsAddressed(envelope.to, handOver.composed)) {
			return next(Object.assign(new Error('The envelope is not what was addressed.'), { code: 'EBADMAIL' }));
		}
		handOver.envelope = envelope;
		if (handOver.composed.utf8) {
			message.getEnvelope = () => {
				handOver.utf8Missing = !watch.offersUtf8();
				// The library would send the bytes to a server that never offered to take them; without a recipient it stops.
				return handOver.utf8Missing ? { from: envelope.from, to: [] } : envelope;
			};
		}
		Object.assign(message, { handOver, signed, createReadStream: readMail });
		next();
	};
}

/**
 * Takes the place of the library's `createReadStream`. One function for all mails, with the state beside it: a closure of its own on each
 * message makes V8 keep every mail's garbage until a full collection.
 */
function readMail(this: Followed): Readable {
	const { handOver, signed } = this;
	const { texts, large } = handOver.composed;
	const source = texts && !large && !signed ? readWhole(this) : MimeNode.prototype.createReadStream.call(this);
	const stream = handOver.begin === null && !large ? source : holdBack(source, handOver);
	// The first of the listeners: the note is made before the library can write the final dot.
	handOver.stream = stream.once('end', () => {
		handOver.ended = true;
		handOver.stream = null;
	});
	return stream;
}

function readWhole(mail: MimeNode): Readable {
	return new Readable({
		read() {
			this.push(writeWhole(mail));
			this.push(null);
		},
	});
}

/** The library normalises addresses in its own way: no recipient may come, go or change its domain by that. */
function isAsAddressed(to: readonly string[], { addressed }: Composed): boolean {
	if (to.length !== addressed.length) return false;
	return addressed.every((one, index) => {
		const sent = to[index] ?? '';
		return one.to.utf8 ? sent.startsWith(one.to.address.slice(0, -one.to.domain.length)) : sent.endsWith(`@${one.to.domain}`);
	});
}

/**
 * Composes at once but gives nothing before it is first read, which is after the 354, and the mark is made. The library encodes an
 * attachment as one piece: in slices it waits for the socket, and a cut in the middle is seen as one.
 */
function holdBack(source: Readable, handOver: HandOver): Readable {
	let state: 'held' | 'asking' | 'pouring' = 'held';
	const pour = (): void => {
		state = 'pouring';
		source.on('data', (chunk: Buffer) => {
			let room = true;
			for (let at = 0; at < chunk.length; at += SLICE) room = stream.push(chunk.subarray(at, at + SLICE));
			if (!room) source.pause();
		});
		source.once('end', () => stream.push(null));
	};
	const ask = async (begin: () => Promise<boolean>): Promise<void> => {
		state = 'asking';
		let unsent: HandOver['unsent'] = 'given-back';
		try {
			unsent = (await begin()) ? null : 'withheld';
		} catch {
			// Whoever cannot say that the mark is made sends nothing.
		}
		if (stream.destroyed || handOver.over) return;
		handOver.unsent = unsent;
		if (unsent === null) pour();
		else stream.destroy(new Error('the hand-over mark was not made'));
	};
	const stream = new Readable({
		highWaterMark: SLICE,
		read() {
			if (state === 'pouring') source.resume();
			else if (state === 'held' && handOver.begin !== null) void ask(handOver.begin);
			else if (state === 'held') pour();
		},
		destroy(error, done) {
			source.destroy();
			done(error);
		},
	});
	source.once('error', (error) => stream.destroy(error));
	return stream;
}
