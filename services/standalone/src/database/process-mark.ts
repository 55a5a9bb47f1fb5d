import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * What tells a living process from a later one that was given the same pid: the moment it began, as the system words it.
 * Undefined when no such process lives (a zombie does not).
 */
export function processMark(pid: number): string | undefined {
	if (process.platform !== 'linux') return askPs(pid, 'lstart=');
	const stat = read(`/proc/${pid}/stat`);
	// The name of the program stands in brackets and may itself hold spaces and brackets: the fields are counted after the last one.
	const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
	if (fields === undefined || fields[0] === 'Z') return undefined;
	return `${read('/proc/sys/kernel/random/boot_id')?.trim()} ${fields[19]}`;
}

/** The command line of a living process, its words joined by spaces; undefined when there is no such process. */
export function processCommand(pid: number): string | undefined {
	if (process.platform !== 'linux') return askPs(pid, 'command=');
	return read(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ');
}

function askPs(pid: number, column: string): string | undefined {
	const answer = spawnSync('ps', ['-o', column, '-p', String(pid)], { encoding: 'utf8' });
	return answer.status === 0 && answer.stdout.trim() !== '' ? answer.stdout.trim() : undefined;
}

function read(file: string): string | undefined {
	try {
		return readFileSync(file, 'utf8');
	} catch {
		return undefined;
	}
}
