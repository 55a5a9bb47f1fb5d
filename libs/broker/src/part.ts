import type { Broker } from './broker.js';

/** The broker as a part of a service: it answers for readiness and closes after everybody who uses it. Starting does not wait for the broker, so a service comes up without it. */
export function brokerPart(
	broker: Broker,
	log: { info(text: string): void },
): { name: string; start(): Promise<void>; stop(): Promise<void>; health(): Promise<void> } {
	broker.on('back', () => log.info('the broker is back'));
	return {
		name: 'broker',
		start: async () => undefined,
		stop: () => broker.close(),
		health: async () => {
			if (!broker.connected()) throw new Error('not connected');
		},
	};
}
