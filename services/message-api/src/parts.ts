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
	let measuring: NodeJS.Timeout | undefined;
	const acceptor = createAcceptor({ pool: db.pool, log, metrics });
	const measure = (): void => {
		for (const [state, n] of Object.entries(db.connections()))
			metrics.dbPoolConnections.set({ state: state as 'idle' | 'busy' | 'waiting' }, n);
	};
	return {
		parts: [
			{
				name: 'acceptor',
				start: async () => {
					measuring = setInterval(measure, 5_000);
				},
				stop: async () => {
					clearInterval(measuring);
					await acceptor.stop();
				},
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
