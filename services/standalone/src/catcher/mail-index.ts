import { type FileHandle, open, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isUuid } from '@tidings/model';
import { type MailSummary, parseSummary } from './mail-summary.js';
import { readHead } from './read-head.js';

/** The index file of a mail folder: one JSON line per mail, so that a start need not read the mails. */
export type MailIndex = {
	/** Adds mails; resolves when they are on the disk. */
	append(mails: readonly MailSummary[]): Promise<void>;
	/** Replaces all lines by these, in one step. */
	rewrite(mails: readonly MailSummary[]): Promise<void>;
	close(): Promise<void>;
};

/**
 * Opens the index of a folder and returns it with the mails that are there, oldest first. The files decide: a line without its file is
 * dropped, a file without its line (the process was killed between the two) gets one from its own head.
 */
export async function openMailIndex(folder: string): Promise<{ index: MailIndex; mails: MailSummary[] }> {
	const path = join(folder, 'index.jsonl');
	const known = new Map<string, MailSummary>();
	for (const line of (await readFile(path, 'utf8').catch(() => '')).split('\n')) {
		const mail = parseSummary(line);
		if (mail !== undefined) known.set(mail.id, mail);
	}
	const ids = (await readdir(folder)).flatMap((name) => (name.endsWith('.eml') && isUuid(name.slice(0, -4)) ? name.slice(0, -4) : []));
	const mails: MailSummary[] = [];
	for (const id of ids.sort()) mails.push(known.get(id) ?? (await summarise(folder, id)));
	const index = makeIndex(path, await open(path, 'a', 0o600));
	await index.rewrite(mails);
	return { index, mails };
}

function makeIndex(path: string, opened: FileHandle): MailIndex {
	let file = opened;
	return {
		async append(mails) {
			await file.appendFile(toLines(mails));
			await file.datasync();
		},
		async rewrite(mails) {
			await writeFile(`${path}.new`, toLines(mails), { mode: 0o600, flush: true });
			await rename(`${path}.new`, path);
			await file.close();
			file = await open(path, 'a', 0o600);
		},
		close: () => file.close(),
	};
}

function toLines(mails: readonly MailSummary[]): string {
	return mails.map((mail) => `${JSON.stringify(mail)}\n`).join('');
}

async function summarise(folder: string, id: string): Promise<MailSummary> {
	const path = join(folder, `${id}.eml`);
	const { size, mtime } = await stat(path);
	const file = await open(path);
	try {
		const { buffer, bytesRead } = await file.read(Buffer.alloc(64 * 1024), 0, 64 * 1024, 0);
		return { id, ...(await readHead(buffer.subarray(0, bytesRead))), receivedAt: mtime.toISOString(), size, envelopeFrom: '' };
	} finally {
		await file.close();
	}
}
