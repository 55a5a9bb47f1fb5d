import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A script of this folder in a process of its own: the lines that it prints, each JSON, and how to end it. */
export type Child = { next<T>(): Promise<T>; end(): Promise<void> };

/** Starts `name` with arguments. It is ended by closing its standard input. Rejects reads when it ends early. */
export function startChild(name: string, ...args: readonly string[]): Child {
	const file = join(import.meta.dirname, name);
	const child = spawn(process.execPath, ['--conditions=tidings-source', '--import', 'tsx', file, ...args], {
		stdio: ['pipe', 'pipe', 'inherit'],
	});
	const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
	const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
	return {
		next: async <T>() => {
			const line = await lines.next();
			if (line.done === true) throw new Error(`${name} ended early`);
			return JSON.parse(line.value) as T;
		},
		end: async () => {
			child.stdin.end();
			await closed;
		},
	};
}
