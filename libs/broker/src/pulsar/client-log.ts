import type { Report } from '../report.js';
import { makeSieve } from '../sieve.js';
import type { PulsarModule } from './client-types.js';

/** Of the client's levels DEBUG, INFO, WARN and ERROR only what is wrong is worth a line. */
export const CLIENT_LOG_LEVEL = 2;

/** Errors to the client, answers to us: who asked is told. */
const EXPECTED = /\bTopicNotFound\b/;
/** The client says the same at each of its attempts; it is told this seldom. */
const REPEAT_MS = 60_000;

type Listener = { readonly report: Report; readonly secret: string | undefined };

/** The client has one log handler for the process, whatever is opened or closed. */
const listeners = new WeakMap<PulsarModule, Set<Listener>>();

/** Forwards the client's warnings and errors to `report`, without `secret`, until the returned function is called. With several at once, the one that came first gets them. */
export function forwardClientLog(module: PulsarModule, report: Report, secret: string | undefined): () => void {
	const listener = { report, secret };
	listenersOf(module).add(listener);
	return () => {
		listenersOf(module).delete(listener);
	};
}

function listenersOf(module: PulsarModule): Set<Listener> {
	const known = listeners.get(module);
	if (known !== undefined) return known;
	const all = new Set<Listener>();
	listeners.set(module, all);
	const isNews = makeSieve(REPEAT_MS);
	module.Client.setLogHandler((level, _file, _line, text) => {
		const [first] = all;
		if (first === undefined || level < CLIENT_LOG_LEVEL || EXPECTED.test(text) || !isNews(text)) return;
		const safe = first.secret === undefined || first.secret === '' ? text : text.replaceAll(first.secret, '…');
		first.report(new Error(safe), 'the client of the broker says', level === CLIENT_LOG_LEVEL ? 'warn' : 'error');
	});
	return all;
}
