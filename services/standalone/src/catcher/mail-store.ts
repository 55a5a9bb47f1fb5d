import { type FileHandle, mkdir, open, rename, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { newId, now } from '@tidings/model';
import { groupFlush } from './group-flush.js';
import { type MailIndex, openMailIndex } from './mail-index.js';
import type { MailSummary } from './mail-summary.js';
import { readHead } from './read-head.js';
import { spoolMail } from './spool-mail.js';

/** What SMTP says of a mail beside its bytes; `from` is empty for a bounce. */
export type Envelope = { from: string; to: string[] };

/** One page of the list; `nextCursor` is null when it is the last. */
export type MailPage = { data: MailSummary[]; nextCursor: string | null };

type Placing = { path: string; kept: MailSummary };

/**
 * The mails of a folder, the newest `keep` of them. A mail is written and flushed under a temporary name, then takes its place by a rename;
 * mails that finish at about the same time share one flush of the folder and of the index.
 */
export class MailStore {
	readonly #folder: string;
	readonly #keep: number;
	readonly #sizeLimit: number;
	readonly #index: MailIndex;
	readonly #directory: FileHandle;
	/** Oldest first, which is the order of ids: a mail waits for its flush from the moment it has one. */
	readonly #mails: MailSummary[];
	readonly #byId: Map<string, MailSummary>;
	readonly #flushes = groupFlush<Placing>((placings) => this.#place(placings));
	readonly #unfinished = new Set<Promise<unknown>>();
	#lines: number;
	#received = 0;

	private constructor(options: {
		folder: string;
		keep: number;
		sizeLimit: number;
		index: MailIndex;
		directory: FileHandle;
		mails: MailSummary[];
	}) {
		this.#folder = options.folder;
		this.#keep = options.keep;
		this.#sizeLimit = options.sizeLimit;
		this.#index = options.index;
		this.#directory = options.directory;
		this.#mails = options.mails;
		this.#byId = new Map(options.mails.map((mail) => [mail.id, mail]));
		this.#lines = options.mails.length;
	}

	/** Opens the folder, making it when there is none, and sweeps away what a killed process left unfinished in it. */
	static async open(options: { folder: string; keep: number; sizeLimit: number }): Promise<MailStore> {
		const incoming = join(options.folder, 'incoming');
		await mkdir(options.folder, { recursive: true, mode: 0o700 });
		await rm(incoming, { recursive: true, force: true });
		await mkdir(incoming, { mode: 0o700 });
		const store = new MailStore({ ...options, ...(await openMailIndex(options.folder)), directory: await open(options.folder) });
		await store.#trim();
		return store;
	}

	/**
	 * Keeps a mail: resolves when it is on the disk and in the list, or with `too-large` when it is over the limit and not kept.
	 * Rejects when the stream breaks off or the disk refuses; then nothing of it is left.
	 */
	keep(stream: Readable, envelope: Envelope): Promise<MailSummary | 'too-large'> {
		const keeping = this.#receive(stream, envelope).finally(() => this.#unfinished.delete(keeping));
		this.#unfinished.add(keeping);
		return keeping;
	}

	/** At most `limit` mails, newest first, older than the mail `cursor`; `query` must occur in subject, sender or a recipient, in any case. */
	list(options: { limit: number; cursor?: string; query?: string }): MailPage {
		const query = options.query?.trim().toLowerCase() ?? '';
		const data: MailSummary[] = [];
		for (let i = this.#mails.length - 1; i >= 0; i--) {
			const mail = this.#mails[i];
			if (mail === undefined || (options.cursor !== undefined && mail.id >= options.cursor) || !matches(mail, query)) continue;
			if (data.length === options.limit) return { data, nextCursor: data.at(-1)?.id ?? null };
			data.push(mail);
		}
		return { data, nextCursor: null };
	}

	/** A mail of the list and its file; undefined when there is none of that id (any more). */
	find(id: string): { summary: MailSummary; path: string } | undefined {
		const summary = this.#byId.get(id);
		return summary && { summary, path: this.#fileOf(id) };
	}

	/** Waits for the mails that are being kept, then closes. */
	async close(): Promise<void> {
		await Promise.allSettled(this.#unfinished);
		await this.#flushes.idle();
		await Promise.all([this.#index.close(), this.#directory.close()]);
	}

	async #receive(stream: Readable, envelope: Envelope): Promise<MailSummary | 'too-large'> {
		const path = join(this.#folder, 'incoming', String(this.#received++));
		const mail = await spoolMail(stream, path, this.#sizeLimit);
		if (mail === 'too-large') return mail;
		const { from, subject, messageId } = await readHead(mail.start);
		const kept = {
			id: newId(),
			from: from || envelope.from,
			to: envelope.to,
			subject,
			receivedAt: now().toISOString(),
			messageId,
			size: mail.size,
			envelopeFrom: envelope.from,
		};
		await this.#flushes.add({ path, kept });
		return kept;
	}

	async #place(placings: readonly Placing[]): Promise<void> {
		try {
			await Promise.all(placings.map(({ path, kept }) => rename(path, this.#fileOf(kept.id))));
			await Promise.all([this.#index.append(placings.map(({ kept }) => kept)), this.#directory.sync()]);
		} catch (error) {
			await Promise.all(placings.flatMap(({ path, kept }) => [path, this.#fileOf(kept.id)]).map((file) => rm(file, { force: true })));
			throw error;
		}
		for (const { kept } of placings) {
			this.#mails.push(kept);
			this.#byId.set(kept.id, kept);
		}
		this.#lines += placings.length;
		// These mails are kept whatever becomes of old ones; a file that cannot be deleted now is at the next start.
		await this.#trim().catch(() => {});
	}

	async #trim(): Promise<void> {
		const old = this.#mails.splice(0, Math.max(0, this.#mails.length - this.#keep));
		for (const { id } of old) this.#byId.delete(id);
		await Promise.allSettled(old.map(({ id }) => unlink(this.#fileOf(id))));
		if (this.#lines <= 2 * this.#keep) return;
		await this.#index.rewrite(this.#mails);
		this.#lines = this.#mails.length;
	}

	#fileOf(id: string): string {
		return join(this.#folder, `${id}.eml`);
	}
}

function matches(mail: MailSummary, query: string): boolean {
	return query === '' || [mail.subject, mail.from, ...mail.to].some((text) => text.toLowerCase().includes(query));
}
