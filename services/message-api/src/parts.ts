import { type HttpPart, httpPart, type Part } from '@tidings/runtime';
import { createAcceptor } from './accept-messages.js';
import { type ApiOptions, createApi } from './api.js';

/** What message-api is made of. */
export type MessageApiOptions = Omit<ApiOptions, 'acceptor'> & {
	/** 0 is any free one. */
	readonly httpPort: number;
	/** Address to listen on; default: all. */
	readonly host?: string;
};

/** The parts of message-api, to be started after the database. `address` is `http://host:port`, once they have started. */
export function messageApiParts(options: MessageApiOptions): { readonly parts: readonly Part[]; address(): string } {
	const { db, log, metrics } = options;
	let http: HttpPart | null = null;
	const acceptor = createAcceptor({ pool: db.pool, log, metrics });
	return {
		parts: [
			{
				name: 'acceptor',
				start: async () => undefined,
				stop: () => acceptor.stop(),
			},
			{
				name: 'http',
				start: async () => {
					const app = await createApi({ ...options, acceptor });
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
