import type { Stage } from '@tidings/model';

/** What the library writes to its log, as far as it is read here. */
type Entry = { readonly sid?: string; readonly tnx?: string; readonly err?: unknown; readonly localPort?: number };
type Note = (entry: Entry, message: unknown) => void;

/** One connection: the commands that wait for an answer, oldest first, and where it stands. */
type Session = { readonly waiting: Stage[]; stage: Stage; upgraded: boolean; localPort: number | null };

/** Knows at which command a connection stood when it broke; see `watchStages`. */
export type StageWatch = {
	/** The library's `logger`. Nothing is written anywhere, and no line is kept: they hold addresses. */
	readonly logger: Readonly<Record<'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal', Note>>;
	/** Where the conversation stood that ended in this error. */
	stageOf(error: object): Stage | null;
	/** Where the connection stood that was closed last. Right only in the same turn in which it was closed. */
	lastClosed(): Stage | null;
	/** Forgets which connection was closed last. */
	forgetClosed(): void;
	/** Local port of the connection whose reply came last. Right only in the same turn. */
	lastReplied(): number | null;
	/** Whether the server offered SMTPUTF8 when it was greeted last. */
	offersUtf8(): boolean;
};

/**
 * The library's errors say "connection closed" for a cut at MAIL, at RCPT and after the dot alike. Its log tells them apart: it has
 * each command and each reply. `security` is the config's.
 */
export function watchStages(security: 'none' | 'starttls' | 'tls'): StageWatch {
	const before: Stage = security === 'tls' ? 'TLS' : 'CONN';
	const sessions = new Map<string, Session>();
	const errors = new WeakMap<object, Stage>();
	let closed: Stage | null = null;
	let replied: Session | null = null;
	let utf8 = false;

	const open = (sid: string): Session => {
		const session = sessions.get(sid) ?? { waiting: [], stage: before, upgraded: false, localPort: null };
		sessions.set(sid, session);
		return session;
	};
	const command = (session: Session, line: string): void => {
		session.waiting.push(stageOfCommand(line) ?? session.stage);
		session.stage = session.waiting[0] ?? session.stage;
	};
	const reply = (session: Session, line: string): void => {
		replied = session;
		const answered = session.waiting.shift();
		if (answered === 'TLS') session.upgraded = true;
		// What is offered before STARTTLS does not count (RFC 3207 §4.2).
		if (answered === 'EHLO' && (security !== 'starttls' || session.upgraded)) utf8 = /^250[ -]SMTPUTF8\b/im.test(line);
		// A 421 ends the conversation where it answers, whatever was sent along with that command.
		session.stage = (line.startsWith('421') ? answered : (session.waiting[0] ?? answered)) ?? session.stage;
	};
	const note: Note = ({ sid, tnx, err, localPort }, message) => {
		if (sid === undefined) return;
		if (tnx === 'client') command(open(sid), String(message));
		else if (tnx === 'server') reply(open(sid), String(message));
		else if (tnx === 'network' && localPort !== undefined) Object.assign(open(sid), { stage: 'CONN', localPort });
		else if (tnx === 'smtp' && typeof err === 'object' && err !== null) errors.set(err, open(sid).stage);
		else if (tnx === 'smtp' && String(message).startsWith('Closing connection')) {
			closed = sessions.get(sid)?.stage ?? before;
			sessions.delete(sid);
		}
	};
	return {
		logger: { trace: note, debug: note, info: note, warn: note, error: note, fatal: note },
		stageOf: (error) => errors.get(error) ?? null,
		lastClosed: () => closed,
		forgetClosed: () => {
			closed = null;
		},
		lastReplied: () => replied?.localPort ?? null,
		offersUtf8: () => utf8,
	};
}

function stageOfCommand(line: string): Stage | null {
	switch (line.slice(0, 4)) {
		case 'EHLO':
		case 'HELO':
			return 'EHLO';
		case 'STAR':
			return 'TLS';
		case 'AUTH':
			return 'AUTH';
		case 'MAIL':
			return 'MAIL';
		case 'RCPT':
			return 'RCPT';
		case 'DATA':
			return 'DATA';
		default:
			return null;
	}
}
