import { linkSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '@tidings/model';
import { openDataDir } from './open-data-dir.js';
import { processMark } from './process-mark.js';

/** A data folder held by this process until it is released. */
export type DataDirLock = { release(): void };

type Holder = { pid: number; mark: string };

const NAME = /^lock\.(\d{1,15})$/;

/**
 * Takes the data folder for this process, making the folder when there is none. Throws a sentence for the person who started it when the
 * folder cannot be made or written, or when a living process holds it ("already running (pid N)"). A process that was killed holds nothing.
 *
 * The holder is the highest-numbered `lock.N`. A link to a name that exists fails, so of two that find the same dead holder one makes N + 1.
 */
export function lockDataDir(dataDir: string): DataDirLock {
	const folder = openDataDir(dataDir);
	const own = join(folder, `lock-${newId()}`);
	writeFileSync(own, JSON.stringify({ pid: process.pid, mark: processMark(process.pid) ?? '' }), { mode: 0o600, flag: 'wx' });
	try {
		return { release: takeNumber(folder, own) };
	} finally {
		rmSync(own, { force: true });
	}
}

function takeNumber(folder: string, own: string): () => void {
	for (;;) {
		const last = highest(folder);
		const holder = last > 0 ? readHolder(join(folder, `lock.${last}`)) : undefined;
		if (holder !== undefined && isAlive(holder))
			throw new Error(
				`Tidings is already running (pid ${holder.pid}) on the data folder ${folder}. Stop it first, or choose another folder with --data-dir.`,
			);
		const mine = join(folder, `lock.${last + 1}`);
		try {
			linkSync(own, mine);
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
			throw error;
		}
		// A number below the highest may have been free because its dead holder was cleared away by one that holds a higher one.
		if (highest(folder) !== last + 1) {
			rmSync(mine, { force: true });
			continue;
		}
		clearBelow(folder, last + 1);
		return () => rmSync(mine, { force: true });
	}
}

function clearBelow(folder: string, number: number): void {
	for (const name of readdirSync(folder)) {
		const found = Number(NAME.exec(name)?.[1] ?? Number.NaN);
		if (found < number) rmSync(join(folder, name), { force: true });
	}
}

function highest(folder: string): number {
	return readdirSync(folder).reduce((most, name) => Math.max(most, Number(NAME.exec(name)?.[1] ?? 0)), 0);
}

function readHolder(file: string): Holder | undefined {
	try {
		const { pid, mark } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Holder>;
		return typeof pid === 'number' && typeof mark === 'string' ? { pid, mark } : undefined;
	} catch {
		return undefined;
	}
}

function isAlive(holder: Holder): boolean {
	return processMark(holder.pid) === holder.mark;
}
