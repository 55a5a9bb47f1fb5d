import type { Place } from './broker.js';
import { namespacePath, pulsarUrl } from './pulsar-names.js';

/** Where the admin API is. */
export type AdminOptions = {
	/** Its address, such as `http://host:8080`; a path prefix is allowed. */
	readonly url: string;
	/** Tenant and namespace of every topic, such as `public/default`. */
	readonly namespace: string;
	/** The token that the broker asks for; none when it asks for none. */
	readonly token?: string | undefined;
	/** How long one request may take, in milliseconds; default 10,000. */
	readonly timeoutMs?: number;
};

/** Pulsar's admin API, as far as the drivers need it. Topics are named without tenant and namespace. Every rejection says what was asked and what came, and repeats no token. */
export type Admin = {
	/** Makes topics together with their subscriptions, partitioned ones included; what exists stays as it is. One request for a place that exists. */
	ensureTopics(places: readonly Place[]): Promise<void>;
	/** How many messages a subscription has not acked yet: waiting, delayed and held ones together, over all partitions. Rejects when there is no such subscription. */
	backlog(topic: string, subscription: string): Promise<number>;
	/** The names of the consumers that the broker sees at a subscription; null when there is no such topic or subscription. */
	consumers(topic: string, subscription: string): Promise<string[] | null>;
	/** Resolves when the broker says that it is ready; rejects with the reason when it is not, cannot be reached, or refuses the token. */
	check(): Promise<void>;
	/** Whether the broker says that it is ready. Never rejects. */
	ready(): Promise<boolean>;
	/** Ends requests under way, which reject, and refuses new ones. */
	close(): void;
};

const DEFAULT_TIMEOUT_MS = 10_000;
/** Many at once would wait for each other at the broker until their time is over. */
const MOST_AT_ONCE = 32;
/** A broker of a cluster sends a request on to the broker that owns the topic. */
const MOST_REDIRECTS = 5;
/** Without a position a subscription begins at the end, and what was published since its topic was made would pass it by. */
const EARLIEST = JSON.stringify({ ledgerId: -1, entryId: -1, partitionIndex: -1 });

type Answer = { readonly status: number; readonly text: string };
type Ask = (method: 'GET' | 'PUT', path: string, body?: string) => Promise<Answer>;

/** Makes a client of the admin API; nothing is asked yet. Throws when the URL or the namespace cannot be one. */
export function createAdmin({ url, namespace, token, timeoutMs = DEFAULT_TIMEOUT_MS }: AdminOptions): Admin {
	const base = `${pulsarUrl(url, ['http:', 'https:'], "the address of Pulsar's admin API")}/admin/v2`;
	const topicPath = (topic: string): string => `/persistent/${namespacePath(namespace)}/${encodeURIComponent(topic)}`;
	// A namespace that does not exist is the commonest mistake, so texts say which one it was.
	const named = (place: Place): Place => ({ ...place, topic: `${namespace}/${place.topic}` });
	topicPath(''); // a wrong namespace is told here, not at the first request
	const underWay = new Set<AbortController>();
	let closed = false;
	const ask = makeAsk({ base, token, timeoutMs, underWay, isClosed: () => closed });

	async function check(): Promise<void> {
		const answer = await ask('GET', '/brokers/ready');
		if (answer.status !== 200) throw unexpected('whether the broker is ready', answer);
	}

	return {
		async ensureTopics(places) {
			const left = [...places];
			const ensureLeft = async (): Promise<void> => {
				for (let place = left.shift(); place !== undefined; place = left.shift()) await ensure(ask, topicPath(place.topic), named(place));
			};
			await Promise.all(Array.from({ length: MOST_AT_ONCE }, ensureLeft));
		},
		async backlog(topic, subscription) {
			const stats = await readStats(ask, topicPath(topic), topic);
			if (stats === null) throw new Error(`there is no topic ${topic}`);
			const backlog = stats[subscription]?.msgBacklog;
			if (backlog === undefined) throw new Error(`topic ${topic} has no subscription ${subscription}`);
			return backlog;
		},
		async consumers(topic, subscription) {
			const stats = await readStats(ask, topicPath(topic), topic);
			const consumers = stats?.[subscription]?.consumers;
			return consumers?.map(({ consumerName }) => consumerName ?? '') ?? null;
		},
		check,
		ready: () =>
			check().then(
				() => true,
				() => false,
			),
		close() {
			closed = true;
			for (const request of underWay) request.abort();
		},
	};
}

/** The subscription first: when it exists, so does its topic. `topic` is for the texts. */
async function ensure(ask: Ask, path: string, { topic, subscription }: Place): Promise<void> {
	const subscribe = (): Promise<Answer> => ask('PUT', `${path}/subscription/${encodeURIComponent(subscription)}`, EARLIEST);
	const first = await subscribe();
	if (isMade(first)) return;
	if (!isMissing(first)) throw unexpected(`for subscription ${subscription} of topic ${topic}`, first);
	const made = await ask('PUT', path);
	if (!isMade(made)) throw unexpected(`for topic ${topic}`, made);
	const second = await subscribe();
	if (!isMade(second)) throw unexpected(`for subscription ${subscription} of topic ${topic}`, second);
}

/** 409: another was faster, or it has been there all along. */
function isMade({ status }: Answer): boolean {
	return status === 204 || status === 200 || status === 409;
}

/** 412: the topic does not exist and does not come by itself. */
function isMissing({ status }: Answer): boolean {
	return status === 404 || status === 412;
}

type Stats = Record<string, { readonly msgBacklog?: number; readonly consumers?: readonly { readonly consumerName?: string }[] }>;

/** By subscription; null when there is no such topic. */
async function readStats(ask: Ask, path: string, topic: string): Promise<Stats | null> {
	const query = 'getPreciseBacklog=true&subscriptionBacklogSize=false';
	const plain = await ask('GET', `${path}/stats?${query}`);
	// The stats of a partitioned topic are asked under another name.
	const answer = plain.status === 404 ? await ask('GET', `${path}/partitioned-stats?perPartition=false&${query}`) : plain;
	if (answer.status === 404) return null;
	if (answer.status !== 200) throw unexpected(`for the state of topic ${topic}`, answer);
	return (JSON.parse(answer.text) as { subscriptions?: Stats }).subscriptions ?? {};
}

type Connection = {
	readonly base: string;
	readonly token: string | undefined;
	readonly timeoutMs: number;
	readonly underWay: Set<AbortController>;
	isClosed(): boolean;
};

const CLOSED = 'the broker is closed';

function makeAsk({ base, token, timeoutMs, underWay, isClosed }: Connection): Ask {
	return async (method, path, body) => {
		if (isClosed()) throw new Error(CLOSED);
		const headers: Record<string, string> = {};
		if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
		if (body !== undefined) headers['content-type'] = 'application/json';
		const abort = new AbortController();
		let late = false;
		const timer = setTimeout(() => {
			late = true;
			abort.abort();
		}, timeoutMs);
		underWay.add(abort);
		try {
			const request: RequestInit = { method, headers, redirect: 'manual', signal: abort.signal };
			const response = await follow(`${base}${path}`, body === undefined ? request : { ...request, body });
			return { status: response.status, text: await response.text() };
		} catch (error) {
			if (isClosed()) throw new Error(CLOSED);
			const reason = late ? `no answer within ${timeoutMs} ms` : reasonOf(error);
			throw new Error(`Pulsar's admin API at ${new URL(base).origin} cannot be reached: ${reason}`, { cause: error });
		} finally {
			clearTimeout(timer);
			underWay.delete(abort);
		}
	};
}

/** Goes where the broker points to, with the token, which `fetch` by itself would leave behind. Never from TLS to plain text, for the token would be readable there. */
async function follow(url: string, request: RequestInit): Promise<Response> {
	let at = url;
	for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
		const response = await fetch(at, request);
		const location = response.headers.get('location');
		if (response.status < 300 || response.status > 399 || location === null) return response;
		await response.body?.cancel();
		const next = new URL(location, at);
		if (next.protocol !== new URL(at).protocol) throw new Error('it points to an address of another scheme');
		at = next.href;
	}
	throw new Error('it points from one broker to the next without end');
}

function reasonOf(error: unknown): string {
	if (!(error instanceof Error)) return String(error);
	const { cause } = error;
	if (!(cause instanceof Error)) return error.message;
	return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message;
}

function unexpected(asked: string, { status, text }: Answer): Error {
	// Pulsar says 401 also of a token that it knows and that may not do this; its reason tells them apart.
	if (status === 401) return new Error(`Pulsar's admin API does not accept the token (401)${explanation(text)}, asked ${asked}`);
	if (status === 403)
		return new Error(`Pulsar's admin API does not allow this token what was asked (403)${explanation(text)}, asked ${asked}`);
	return new Error(`Pulsar's admin API answered ${status}${explanation(text)}, asked ${asked}`);
}

/** Pulsar explains itself in JSON; a page of HTML from something else is no explanation. */
function explanation(text: string): string {
	try {
		const { reason } = JSON.parse(text) as { reason?: unknown };
		return typeof reason === 'string' && reason.trim() !== '' ? ` (${reason.trim().slice(0, 300)})` : '';
	} catch {
		return '';
	}
}
