import { createServer, type Socket } from 'node:net';

/** The points of an SMTP conversation at which the sink can be told what to do. BODY is the first byte of the content, DOT the end of it. */
export type SinkStage = 'CONN' | 'EHLO' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'BODY' | 'DOT' | 'RSET' | 'QUIT';

/**
 * What the sink does instead of saying yes.
 * - `refuse`: says no, with a code such as 550 and perhaps an enhanced code such as 5.1.1 (at BODY: after the dot)
 * - `hang`: says nothing until released, then goes on as if there were no rule
 * - `close`: cuts the connection without a word; with `kept` at DOT the mail counts as accepted all the same
 */
export type SinkAnswer =
	| { readonly kind: 'refuse'; readonly code: number; readonly enhancedCode?: string; readonly text?: string }
	| { readonly kind: 'hang' }
	| { readonly kind: 'close'; readonly kept?: boolean };

/** At this stage, for this recipient (address or pattern; default: any), so many times (default: always), this answer. The first rule that fits wins. */
export type SinkRule = { readonly stage: SinkStage; readonly to?: string | RegExp; readonly times?: number; readonly answer: SinkAnswer };

/** A rule at work. */
export type SinkScript = {
	/** How often it was met. */
	readonly hits: number;
	/** Resolves when it has been met `times` times (default 1). */
	met(times?: number): Promise<void>;
	/** Lets those who hang go on, and takes the rule away. */
	release(): void;
};

/** One mail that the sink has accepted: the envelope, and the bytes between DATA and the dot with dots unstuffed. */
export type SinkMail = {
	readonly messageId: string;
	readonly from: string;
	readonly to: readonly string[];
	readonly raw: Buffer;
	/** When it was accepted. */
	readonly at?: Date;
};

/** A mail server that keeps every mail it accepts, in the order in which it accepted them. */
export type SmtpSink = {
	readonly host: string;
	readonly port: number;
	readonly mails: readonly SinkMail[];
	/** Open connections now. */
	connections(): number;
	script(rule: SinkRule): SinkScript;
	/** Cuts every connection and stops listening. */
	close(): Promise<void>;
};

/** `extensions` are the words after EHLO; with `login` a client must give this name and password (AUTH PLAIN) before MAIL. `port` 0: any free one. */
export type SinkOptions = {
	/** How long it thinks about each mail after the dot, in milliseconds, as real servers do; default 0. */
	readonly thinkMs?: number;
	readonly port?: number;
	readonly extensions?: readonly string[];
	readonly login?: { readonly username: string; readonly password: string };
};

/** Starts a sink on 127.0.0.1. Rejects when the port is taken. */
export async function startSmtpSink(options: SinkOptions = {}): Promise<SmtpSink> {
	const mails: SinkMail[] = [];
	const rules: Rule[] = [];
	const sockets = new Set<Socket>();
	const server = createServer((socket) => {
		sockets.add(socket);
		socket.once('close', () => sockets.delete(socket));
		// A client that goes away in the middle is no trouble of ours.
		socket.on('error', () => undefined);
		converse(socket, { mails, rules, options }).catch(() => socket.destroy());
	});
	await new Promise<void>((resolve, reject) => server.once('error', reject).listen(options.port ?? 0, '127.0.0.1', resolve));
	const address = server.address();
	return {
		host: '127.0.0.1',
		port: typeof address === 'object' && address !== null ? address.port : 0,
		mails,
		connections: () => sockets.size,
		script: (rule) => addRule(rules, rule),
		close: async () => {
			const closed = new Promise((resolve) => server.close(resolve));
			for (const socket of sockets) socket.destroy();
			await closed;
		},
	};
}

type Rule = SinkRule & { hits: number; waiters: { times: number; resolve: () => void }[]; held: (() => void)[] };

function addRule(rules: Rule[], given: SinkRule): SinkScript {
	const rule: Rule = { ...given, hits: 0, waiters: [], held: [] };
	rules.push(rule);
	return {
		get hits() {
			return rule.hits;
		},
		met: (times = 1) =>
			new Promise((resolve) => {
				if (rule.hits >= times) resolve();
				else rule.waiters.push({ times, resolve });
			}),
		release: () => {
			const at = rules.indexOf(rule);
			if (at >= 0) rules.splice(at, 1);
			for (const go of rule.held.splice(0)) go();
		},
	};
}

type Sink = { readonly mails: SinkMail[]; readonly rules: Rule[]; readonly options: SinkOptions };
type Transaction = { from: string | null; to: string[] };

/** What a rule leaves to be done: a refusal to say, a connection to cut, or nothing out of the ordinary. */
type Verdict = { kind: 'go' } | Exclude<SinkAnswer, { kind: 'hang' }>;

/** Asks the rules; a hanging one holds us here. `addresses`: whom this stage is about. */
async function consult(sink: Sink, stage: SinkStage, addresses: readonly string[]): Promise<Verdict> {
	const fits = ({ to }: Rule) =>
		to === undefined || addresses.some((one) => (typeof to === 'string' ? one.toLowerCase() === to.toLowerCase() : to.test(one)));
	const rule = sink.rules.find((one) => one.stage === stage && one.hits < (one.times ?? Number.POSITIVE_INFINITY) && fits(one));
	if (rule === undefined) return { kind: 'go' };
	rule.hits++;
	const gone = rule.answer.kind === 'hang' ? new Promise<void>((resolve) => rule.held.push(resolve)) : undefined;
	for (const waiter of rule.waiters) if (rule.hits >= waiter.times) waiter.resolve();
	if (rule.answer.kind !== 'hang') return rule.answer;
	await gone;
	return { kind: 'go' };
}

async function converse(socket: Socket, sink: Sink): Promise<void> {
	const input = new Input(socket);
	let now: Transaction = { from: null, to: [] };
	let known = sink.options.login === undefined;

	/** Says the refusal or `yes`; false: the connection is cut, or the answer was a no. */
	const answer = async (stage: SinkStage, about: readonly string[], yes: string): Promise<boolean> => {
		const verdict = await consult(sink, stage, about);
		if (verdict.kind === 'close') socket.destroy();
		else say(socket, verdict.kind === 'refuse' ? refusal(verdict) : yes);
		return verdict.kind === 'go';
	};

	if (!(await answer('CONN', [], '220 sink ESMTP'))) return void socket.end();
	for (let line = await input.line(); line !== null; line = await input.line()) {
		if (/[\u0000-\u001f\u007f]/.test(line)) {
			say(socket, '501 5.5.2 a command holds no control character');
			continue;
		}
		const verb = line.split(/[ :]/, 1)[0]?.toUpperCase() ?? '';
		if (verb === 'EHLO' || verb === 'HELO') {
			await answer('EHLO', [], greeting(sink.options));
		} else if (verb === 'AUTH') {
			const right = passes(line, sink.options.login);
			known = (await answer('AUTH', [], right ? '235 2.7.0 welcome' : '535 5.7.8 wrong name or password')) && right;
		} else if (verb === 'MAIL') {
			const from = pathOf(line);
			if (!known) say(socket, '530 5.7.0 log in first');
			else if (await answer('MAIL', [from], '250 2.1.0 ok')) now = { from, to: [] };
		} else if (verb === 'RCPT') {
			const to = pathOf(line);
			if (now.from === null) say(socket, '503 5.5.1 MAIL first');
			else if (await answer('RCPT', [to], '250 2.1.5 ok')) now.to.push(to);
		} else if (verb === 'DATA') {
			if (now.to.length === 0) say(socket, '503 5.5.1 RCPT first');
			else if (await answer('DATA', now.to, '354 go on')) await takeBody(socket, input, sink, now);
			now = { from: null, to: [] };
		} else if (verb === 'RSET') {
			now = { from: null, to: [] };
			await answer('RSET', [], '250 2.0.0 ok');
		} else if (verb === 'NOOP') {
			say(socket, '250 2.0.0 ok');
		} else if (verb === 'QUIT') {
			await answer('QUIT', [], '221 2.0.0 bye');
			socket.end();
		} else {
			say(socket, '502 5.5.1 unknown command');
		}
	}
}

async function takeBody(socket: Socket, input: Input, sink: Sink, { from, to }: Transaction): Promise<void> {
	await input.some();
	const early = await consult(sink, 'BODY', to);
	if (early.kind === 'close') return void socket.destroy();
	const raw = await input.body();
	if (raw === null) return;
	const verdict = early.kind === 'refuse' ? early : await consult(sink, 'DOT', to);
	if (verdict.kind === 'refuse') return say(socket, refusal(verdict));
	if (verdict.kind === 'close' && verdict.kept !== true) return void socket.destroy();
	const messageId = /^message-id:\s*(<[^>]*>)/im.exec(raw.toString('latin1').split('\r\n\r\n', 1)[0] ?? '')?.[1] ?? '';
	sink.mails.push({ messageId, from: from ?? '', to, raw, at: new Date() });
	if (verdict.kind === 'close') return void socket.destroy();
	if (sink.options.thinkMs !== undefined) await new Promise((resolve) => setTimeout(resolve, sink.options.thinkMs));
	say(socket, `250 2.0.0 kept as ${sink.mails.length}`);
}

function say(socket: Socket, line: string): void {
	if (socket.writable) socket.write(`${line}\r\n`);
}

function refusal(answer: { code: number; enhancedCode?: string; text?: string }): string {
	return [answer.code, answer.enhancedCode, answer.text ?? 'no'].filter((part) => part !== undefined).join(' ');
}

function greeting({ extensions, login }: SinkOptions): string {
	const words = extensions ?? ['8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES', 'SIZE 52428800'];
	const lines = ['sink', ...words, ...(login ? ['AUTH PLAIN'] : [])];
	return lines.map((word, n) => `250${n === lines.length - 1 ? ' ' : '-'}${word}`).join('\r\n');
}

function passes(line: string, login: SinkOptions['login']): boolean {
	const [, username, password] = Buffer.from(line.split(' ')[2] ?? '', 'base64')
		.toString('utf8')
		.split('\0');
	return login !== undefined && username === login.username && password === login.password;
}

function pathOf(line: string): string {
	return /<([^>]*)>/.exec(line)?.[1] ?? '';
}

/** Reads lines and bodies from a socket, one at a time; null when the other side has gone. */
class Input {
	readonly #chunks: AsyncIterator<Buffer>;
	#bytes: Buffer = Buffer.alloc(0);

	constructor(socket: Socket) {
		this.#chunks = socket[Symbol.asyncIterator]();
	}

	async line(): Promise<string | null> {
		const found = await this.#until('\r\n');
		return found === null ? null : found.toString('utf8');
	}

	/** The content up to the lonely dot, without it and without stuffed dots. */
	async body(): Promise<Buffer | null> {
		// The line break before the first line is that of DATA itself.
		this.#bytes = Buffer.concat([Buffer.from('\r\n'), this.#bytes]);
		const found = await this.#until('\r\n.\r\n');
		if (found === null) return null;
		const framed = `${found.toString('latin1')}\r\n`;
		return Buffer.from(framed.replaceAll('\r\n..', '\r\n.').slice(2), 'latin1');
	}

	/** Resolves when there is at least one byte, or none will come. */
	async some(): Promise<void> {
		if (this.#bytes.length === 0) await this.#more();
	}

	async #until(mark: string): Promise<Buffer | null> {
		for (let start = 0; ; ) {
			const at = this.#bytes.indexOf(mark, start);
			if (at >= 0) {
				const found = this.#bytes.subarray(0, at);
				this.#bytes = this.#bytes.subarray(at + mark.length);
				return found;
			}
			start = Math.max(0, this.#bytes.length - mark.length);
			if (!(await this.#more())) return null;
		}
	}

	async #more(): Promise<boolean> {
		const { done, value } = await this.#chunks.next();
		if (done === true) return false;
		this.#bytes = Buffer.concat([this.#bytes, value]);
		return true;
	}
}
