import type { Broker } from '../../broker.js';
import { openPulsarBroker, type PulsarOptions } from '../open-pulsar-broker.js';
import { type FakePulsar, fakePulsar } from './fake-pulsar.js';

/** The place that `withBroker` makes. */
export const PLACE = { topic: 'mail-send-normal', subscription: 'mail-sender' };

/** A line of the log. */
export type Line = { readonly level: 'warn' | 'error'; readonly text: string };

/** A broker on a fake client; it is closed afterwards. */
export async function withBroker(
	act: (broker: Broker, fake: FakePulsar, lines: Line[]) => Promise<void>,
	options: Partial<PulsarOptions> & { readonly fake?: FakePulsar; readonly admin?: false } = {},
): Promise<void> {
	const { fake = fakePulsar(), admin, ...others } = options;
	const lines: Line[] = [];
	const logOf =
		(level: Line['level']) =>
		({ err }: { err: unknown }, text: string): void =>
			void lines.push({ level, text: `${text}: ${String(err)}` });
	const log = { warn: logOf('warn'), error: logOf('error') };
	const place = { url: 'pulsar://broker:6650', namespace: 'public/default', log, ...others };
	const broker = openPulsarBroker(place, () => fake.module, admin === false ? undefined : fake.admin);
	try {
		if (!fake.down && admin !== false) await broker.ensureTopics([PLACE]);
		await act(broker, fake, lines);
	} finally {
		await broker.close();
	}
}
