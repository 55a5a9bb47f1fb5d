import { readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { monotonic } from '@tidings/model';
import type { Logger } from '@tidings/telemetry';
import { processCommand, processMark } from './process-mark.js';

const PATIENCE_MS = 30_000;

/**
 * Ends the database server that an earlier, killed run left behind in the folder (fast shutdown), and clears the pid file of a dead server,
 * even if its pid belongs to a stranger by now: PostgreSQL itself would take that one for its own and refuse to start.
 */
export async function stopOrphan(folder: string, log: Logger): Promise<void> {
	const file = join(folder, 'postmaster.pid');
	const pid = readPid(file);
	if (pid === undefined) return;
	if (isServerOf(pid, folder)) {
		log.warn({ pid }, 'stopping the database server that an earlier run left behind');
		await endServer(pid);
	}
	rmSync(file, { force: true });
}

/** Ends a database server: a fast shutdown (open transactions are rolled back), after 30 s an immediate one. Throws when it outlives both. */
export async function endServer(pid: number): Promise<void> {
	const mark = processMark(pid);
	if (mark === undefined) return;
	for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
		process.kill(pid, signal);
		const deadline = monotonic() + PATIENCE_MS;
		while (monotonic() < deadline) {
			if (processMark(pid) !== mark) return;
			await delay(20);
		}
	}
	throw new Error(`The database server (pid ${pid}) does not stop. Stop it by hand and start Tidings again.`);
}

function readPid(file: string): number | undefined {
	try {
		const pid = Number(readFileSync(file, 'utf8').split('\n', 1)[0]);
		return Number.isInteger(pid) && pid > 1 ? pid : undefined;
	} catch {
		return undefined;
	}
}

// A server works in its data folder. Where the system does not tell (not Linux), its command line names the folder.
function isServerOf(pid: number, folder: string): boolean {
	const command = processCommand(pid);
	if (command === undefined || !command.includes('postgres')) return false;
	try {
		return readlinkSync(`/proc/${pid}/cwd`) === folder;
	} catch {
		return command.includes(folder);
	}
}
