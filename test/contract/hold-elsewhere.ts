import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Place } from '@tidings/broker';
import type { PulsarAddresses, PulsarDriver } from './driver.js';

/** A process that consumes and settles nothing. */
export type Holder = {
	/** The texts that came to it. */
	held(): readonly string[];
	/** Ends it by kill -9 and resolves when it is gone. */
	kill(): Promise<void>;
};

const PROGRAM = `
const { openBroker } = await import('@tidings/broker');
const { place, ...options } = JSON.parse(process.argv[1]);
const broker = await openBroker(options);
const onMessage = ({ payload }) => console.log(Buffer.from(payload).toString());
await broker.subscribe({ ...place, onMessage });
`;

/** Starts a process that holds messages of a subscription, at most `slots`. It lives until it is killed. */
export async function holdElsewhere(
	driver: PulsarDriver,
	at: PulsarAddresses,
	{ namespace, ...place }: Place & { readonly namespace: string; readonly slots: number },
): Promise<Holder> {
	const options = { url: driver === 'websocket' ? at.wsUrl : at.serviceUrl, adminUrl: at.webUrl, namespace, place };
	const program = ['--conditions=tidings-source', '--import', 'tsx', '--input-type=module', '-e', PROGRAM, JSON.stringify(options)];
	const child = spawn(process.execPath, program, { cwd: join(import.meta.dirname, '..'), stdio: ['ignore', 'pipe', 'inherit'] });
	const texts: string[] = [];
	createInterface({ input: child.stdout }).on('line', (line) => texts.push(line));
	const gone = once(child, 'exit');
	return {
		held: () => texts,
		kill: async () => {
			child.kill('SIGKILL');
			await gone;
		},
	};
}
