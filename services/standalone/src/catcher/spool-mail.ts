import { type FileHandle, open, rm } from 'node:fs/promises';
import type { Readable } from 'node:stream';

/** A whole mail on disk under a temporary name: its data are flushed, its name is not yet one of the list. */
export type SpooledMail = { path: string; size: number; start: Buffer };

/** Bytes gathered before they are written: a usual mail takes one write. */
const GATHER_BYTES = 256 * 1024;
/** Bytes kept for reading the head. */
const START_BYTES = 64 * 1024;

/**
 * Writes a mail to `path` and flushes it to the disk. Rejects, leaving no file, when the stream breaks off or the disk refuses.
 * Returns `too-large` once it has seen the end of a mail over `limit` bytes.
 */
export async function spoolMail(stream: Readable, path: string, limit: number): Promise<SpooledMail | 'too-large'> {
	const kept: Buffer[] = [];
	let size = 0;
	let startSize = 0;
	let file: FileHandle | undefined;
	try {
		let gathered: Buffer[] = [];
		let gatheredBytes = 0;
		for await (const chunk of stream as AsyncIterable<Buffer>) {
			size += chunk.length;
			if (size > limit) continue; // It is read to its end all the same: only then can an answer be given.
			if (startSize < START_BYTES) startSize += kept[kept.push(chunk) - 1]?.length ?? 0;
			gathered.push(chunk);
			gatheredBytes += chunk.length;
			if (gatheredBytes < GATHER_BYTES) continue;
			file ??= await open(path, 'wx', 0o600);
			await writeAll(file, gathered);
			gathered = [];
			gatheredBytes = 0;
		}
		if (size <= limit) {
			file ??= await open(path, 'wx', 0o600);
			await writeAll(file, gathered);
			await file.datasync();
			await file.close();
			return { path, size, start: Buffer.concat(kept) };
		}
	} catch (error) {
		await discard(file, path);
		throw error;
	}
	await discard(file, path);
	return 'too-large';
}

async function writeAll(file: FileHandle, chunks: readonly Buffer[]): Promise<void> {
	if (chunks.length > 0) await file.writeFile(chunks.length === 1 ? (chunks[0] ?? '') : Buffer.concat(chunks));
}

async function discard(file: FileHandle | undefined, path: string): Promise<void> {
	if (file === undefined) return;
	await file.close().catch(() => {}); // It may be closed already when the failure came from closing.
	await rm(path, { force: true });
}
