import { type Queryable, wakeFlows } from '@tidings/db';
import type { Logger } from '@tidings/telemetry';

/** A connection that keeps its place in a pool until it is released. */
type PoolClient = Queryable & { on(event: 'error', listener: () => void): unknown; release(close: boolean): void };

/** Tells the publishers what was committed, without anybody waiting for it. */
export type Waker = {
	/** `dueAt` null: now. */
	wake(flows: readonly { flowId: string; dueAt: Date | null }[]): void;
	/** Tells what is left and lets its connection go. */
	stop(): Promise<void>;
};

/**
 * Makes the waker. One hint is under way at a time; what comes meanwhile is merged into the next. It has a connection of its own on which commits are not flushed:
 * a hint that a crash loses is found by the publishers' own look for sleeping flows, and so is one that fails. `connect` takes that connection from a pool.
 */
export function createWaker(connect: () => Promise<PoolClient>, log: Logger): Waker {
	let waiting = new Map<string, Date | null>();
	let running: Promise<void> | null = null;
	let client: PoolClient | null = null;

	const connected = async (): Promise<PoolClient> => {
		if (client !== null) return client;
		const fresh = await connect();
		// From here on whatever fails lets it go: a connection that is lost in between would hold its place in the pool for ever.
		client = fresh;
		// Without a listener a lost connection would end the process; the next statement fails and opens another.
		fresh.on('error', () => letGo(fresh));
		await fresh.query('set synchronous_commit = off');
		return fresh;
	};
	/** Closes the connection, also a healthy one: its next user must not inherit the setting. */
	const letGo = (one: PoolClient | null): void => {
		if (one === null || one !== client) return;
		client = null;
		one.release(true);
	};
	const run = async (): Promise<void> => {
		while (waiting.size > 0) {
			const flows = [...waiting].map(([flowId, dueAt]) => ({ flowId, dueAt }));
			waiting = new Map();
			try {
				await wakeFlows(await connected(), flows);
			} catch (error) {
				letGo(client);
				log.warn({ err: error, flows: flows.length }, 'publishers not woken, they will look by themselves');
			}
		}
		running = null;
	};
	return {
		wake: (flows) => {
			for (const { flowId, dueAt } of flows) {
				const known = waiting.get(flowId);
				if (known === undefined) waiting.set(flowId, dueAt);
				else if (known !== null && (dueAt === null || dueAt < known)) waiting.set(flowId, dueAt);
			}
			if (waiting.size > 0) running ??= run();
		},
		stop: async () => {
			await running;
			letGo(client);
		},
	};
}
