import { createRequestCounter, openRateWindows } from '@tidings/limits';
import { NO_CAPS } from '@tidings/model';
import { createVerifyToken, type HttpPart, httpPart, type JwtOptions, type Part } from '@tidings/runtime';
import { createAcceptor } from './accept-messages.js';
import { type ApiOptions, createApi } from './api.js';
import { credentialsIn } from './credentials.js';
import { createKeyUse } from './note-key-use.js';
import { throttleCallers } from './throttle-callers.js';

/** What message-api is made of. */
export type MessageApiOptions = Omit<ApiOptions, 'acceptor' | 'credentials' | 'callers'> & {
	/** 0 is any free one. */
	readonly httpPort: number;
	/** Address to listen on; default: all. */
	readonly host?: string;
	/** Which JWTs are taken; default: none. */
	readonly jwt?: JwtOptions | null;
	/** Requests a second of each caller; default: no limit. */
	readonly ratePerSecond?: number | null;
	/** Where requests are counted over all processes, and rate windows are read; default: in this one, and nowhere. */
	readonly redisUrl?: string | null;
};

/** The parts of message-api, to be started after the database. `address` is `http://host:port`, once they have started. */
export function messageApiParts(options: MessageApiOptions): { readonly parts: readonly Part[]; address(): string } {
	const { db, log, metrics } = options;
	let http: HttpPart | null = null;
	const acceptor = createAcceptor({ pool: db.pool, log, metrics, caps: options.caps ?? NO_CAPS });
	const keyUse = createKeyUse({ db, log });
	const counter = createRequestCounter({ redisUrl: options.redisUrl ?? null, log });
	// Only read here: this API does not need them, so that they count for no health.
	const shared = options.windows === undefined && options.redisUrl != null ? openRateWindows({ redisUrl: options.redisUrl }) : null;
	const windows = options.windows ?? shared;
	const credentials = credentialsIn(db, keyUse.note);
	const callers = {
		...(options.jwt == null ? {} : { verifyToken: createVerifyToken(options.jwt) }),
		throttle: throttleCallers(counter, { perSecond: options.ratePerSecond ?? null, metrics }),
	};
	return {
		parts: [
			{
				name: 'acceptor',
				start: async () => undefined,
				stop: () => acceptor.stop(),
			},
			keyUse,
			counter,
			...(shared === null ? [] : [{ name: 'rate-windows', start: shared.start, stop: shared.stop }]),
			{
				name: 'http',
				start: async () => {
					const app = await createApi({ ...options, windows, acceptor, credentials, callers });
					http = httpPart(app, { port: options.httpPort, ...(options.host === undefined ? {} : { host: options.host }) });
					await http.start();
					log.info({ address: http.address() }, 'listening');
				},
				stop: async () => await http?.stop(),
			},
		],
		address: () => {
			if (http === null) throw new Error('message-api does not listen yet');
			return http.address();
		},
	};
}
