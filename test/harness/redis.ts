import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { endWithUs } from './end-with-us.js';
import { freePort } from './postgres.js';

/** A Redis server of our own, which keeps nothing on disk. */
export type TestRedis = {
	readonly url: string;
	/** Kills it: connections break, and what it held is gone. */
	kill(): Promise<void>;
	/** It answers nobody until `resume`, as behind a network that swallows. */
	pause(): void;
	resume(): void;
	/** Starts it again at the same address, empty. */
	restart(): Promise<void>;
	stop(): Promise<void>;
};

/** Starts a fresh Redis on a free port, which asks for a password where one is given; it ends with this process. Rejects with its output when it does not start. */
export async function startRedis({ password }: { password?: string } = {}): Promise<TestRedis> {
	const port = await freePort();
	const more = password === undefined ? [] : ['--requirepass', password];
	let server = await run(port, more);
	const kill = async (): Promise<void> => {
		if (server.exitCode !== null || server.signalCode !== null) return;
		const ended = once(server, 'exit');
		server.kill('SIGKILL');
		await ended;
	};
	return {
		url: `redis://${password === undefined ? '' : `:${password}@`}127.0.0.1:${port}`,
		kill,
		pause: () => void server.kill('SIGSTOP'),
		resume: () => void server.kill('SIGCONT'),
		restart: async () => {
			server = await run(port, more);
		},
		stop: kill,
	};
}

async function run(port: number, more: readonly string[]): Promise<ChildProcess> {
	const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', tmpdir(), ...more];
	const server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
	endWithUs(server);
	const lines: string[] = [];
	await new Promise<void>((resolve, reject) => {
		server.once('error', (error) => reject(new Error(`redis-server cannot be started (Debian: package redis-server): ${error.message}`)));
		server.once('exit', () => reject(new Error(`Redis did not start:\n${lines.join('\n')}`)));
		createInterface({ input: server.stdout }).on('line', (line) => {
			lines.push(line);
			if (line.includes('Ready to accept connections')) resolve();
		});
	});
	return server;
}

/** The address of the one Redis of this run: for whoever needs one that works. What it holds is told apart by ids, so that files can share it. */
export function redisOfRun(): string {
	const url = process.env['TIDINGS_TEST_REDIS_URL'];
	if (url === undefined) throw new Error('There is no Redis: run through Jest, or set TIDINGS_TEST_REDIS_URL to its address.');
	return url;
}
