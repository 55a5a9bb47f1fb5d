import { newId } from '@tidings/model';
import { eventually } from './eventually.js';

/** What a mail may say beside what every one says. */
export type MailChange = Readonly<Record<string, unknown>>;

/** A caller of the API that behaves as callers should: it gives each message a key and repeats the request under it until it is told what became of it. */
export type Submitter = {
	/** Ids that were answered with 202. */
	readonly answered: readonly string[];
	/** What callers met on the way: `503`, `ECONNREFUSED`… and how often. */
	readonly met: ReadonlyMap<string, number>;
	/** What the API must never do: another answer, a 503 without Retry-After, two ids for one key. */
	readonly faults: readonly string[];
	/** Forgets what callers met so far. */
	forget(): void;
	/** Submits one mail and answers its id, however often it takes (within `within` milliseconds, default 60,000). */
	submit(change?: MailChange, options?: { key?: string; within?: number }): Promise<string>;
	/** One request to any path, with a body as POST; rejects when there is no answer or no success. */
	call(path: string, body?: unknown): Promise<{ readonly status: number; readonly body: ReturnType<typeof JSON.parse> }>;
	/** A change of a thing, whatever its version; rejects likewise. */
	change(path: string, body: unknown): Promise<void>;
};

type Reply = { readonly status: number; readonly retryAfter: string | null; readonly text: string };

/** Makes a caller. `apis`: where the API listens now, any number of them; the caller takes them in turn. `secrets`: address, subject and body begin with these. */
export function createSubmitter(options: {
	apis: () => readonly string[];
	apiKey: string;
	secrets: readonly [string, string, string];
}): Submitter {
	const [mailbox, subject, text] = options.secrets;
	const answered: string[] = [];
	const met = new Map<string, number>();
	const faults: string[] = [];
	let turn = 0;
	const meet = (what: string): void => void met.set(what, (met.get(what) ?? 0) + 1);

	const request = async (path: string, body: string | undefined, headers: Readonly<Record<string, string>>): Promise<Reply> => {
		const apis = options.apis();
		const api = apis[turn++ % Math.max(1, apis.length)];
		if (api === undefined) throw Object.assign(new Error('no API listens'), { code: 'ECONNREFUSED' });
		const response = await fetch(api + path, {
			method: headers['if-match'] !== undefined ? 'PATCH' : body === undefined ? 'GET' : 'POST',
			headers: {
				authorization: `Bearer ${options.apiKey}`,
				...(body === undefined ? {} : { 'content-type': 'application/json' }),
				...headers,
			},
			...(body === undefined ? {} : { body }),
			signal: AbortSignal.timeout(30_000),
		});
		return { status: response.status, retryAfter: response.headers.get('retry-after'), text: await response.text() };
	};
	/** One try; null: to be repeated. */
	const tryOnce = async (key: string, body: string): Promise<string | null> => {
		const reply = await request('/v1/mails', body, { 'idempotency-key': key }).catch((error: unknown) => codeOf(error));
		if (typeof reply === 'string') {
			meet(reply);
			return null;
		}
		if (reply.status === 202) return JSON.parse(reply.text).id;
		meet(String(reply.status));
		// 409: the request before is still in hand.
		if (reply.status === 503 && reply.retryAfter === null) faults.push(`a 503 without Retry-After: ${reply.text}`);
		if (reply.status !== 503 && reply.status !== 409) faults.push(`a caller was answered ${reply.status}: ${reply.text}`);
		return null;
	};
	return {
		answered,
		met,
		faults,
		forget: () => met.clear(),
		submit: async (change = {}, { key = newId(), within = 60_000 } = {}) => {
			const body = JSON.stringify({ to: [`${mailbox}-${key}@example.com`], subject: `${subject} ${key}`, text, ...change });
			const id = await eventually(() => tryOnce(key, body), { within, what: 'a submission to be accepted' });
			answered.push(id);
			return id;
		},
		change: async (path, body) => {
			const reply = await request(path, JSON.stringify(body), { 'if-match': '*' });
			if (reply.status >= 300) throw new Error(`${path} was answered ${reply.status}: ${reply.text}`);
		},
		call: async (path, body) => {
			const reply = await request(path, body === undefined ? undefined : JSON.stringify(body), {});
			if (reply.status >= 300) throw new Error(`${path} was answered ${reply.status}: ${reply.text}`);
			return { status: reply.status, body: reply.text === '' ? null : JSON.parse(reply.text) };
		},
	};
}

/** The innermost code of a failed request: fetch itself says only that it failed. Its errors may be of another realm than Jest's. */
function codeOf(error: unknown): string {
	if (typeof error !== 'object' || error === null) return String(error);
	const { cause, code, name } = error as { cause?: unknown; code?: unknown; name?: unknown };
	if (cause !== undefined) return codeOf(cause);
	return String(code ?? name);
}
