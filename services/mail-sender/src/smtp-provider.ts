import { type ClaimedRecord, type Db, type LoadedAttachment, loadAttachments } from '@tidings/db';
import type { Provider } from '@tidings/delivery';
import { monotonic, type Outcome } from '@tidings/model';
import type { Logger } from '@tidings/telemetry';
import { type LoadedServer, loadServer, type OpenSecret, ServerUnusable, serverGone } from './load-server.js';
import { unfit } from './providers/smtp/compose.js';
import type { HostAnswer } from './providers/smtp/dial.js';
import type { SmtpMail } from './providers/smtp/mail.js';
import { openTransport, type SmtpTransport } from './providers/smtp/transport.js';

/** What the SMTP provider is made of. */
export type SmtpProviderOptions = {
	readonly db: Db;
	readonly log: Logger;
	readonly openSecret: OpenSecret;
	readonly resolveHost: (host: string) => Promise<HostAnswer>;
	/** Connections at most to one server by this process. */
	readonly slots: number;
	readonly deadlineSeconds: number;
	readonly connectSeconds: number;
	readonly readSeconds: number;
};

/** The SMTP provider, with a pool for each version of each mail server. */
export type SmtpProvider = Provider & {
	/** Closes pools that nothing was sent through for a while. */
	closeIdle(): Promise<void>;
	/** Closes every connection; one that still waits for an answer is cut, for nobody waits for it any more. */
	close(): Promise<void>;
};

type Pool = { readonly version: number; readonly host: string; readonly port: number; readonly transport: SmtpTransport; usedAt: number };

const IDLE_MS = 5 * 60_000;

/**
 * Sends mails through the servers that their records name. The claim says which version of its config a record is to be sent with:
 * a version that is not known yet is loaded and gets a pool of its own, and the pool of the older one is closed once its mails are out. Nothing goes through
 * a server that is gone (version 0), also where its pool is still there.
 */
export function createSmtpProvider(options: SmtpProviderOptions): SmtpProvider {
	const pools = new Map<string, Promise<Pool>>();

	const open = async (record: ClaimedRecord): Promise<Pool> => {
		const server = await loadServer(options.db, options.openSecret, record.configId);
		const { version, host, port } = server;
		return { version, host, port, transport: transportOf(server, options), usedAt: monotonic() };
	};
	const retire = (configId: string, pool: Pool): void => {
		pools.delete(configId);
		// Not in this turn: who has just found it still gives its mail to it.
		setImmediate(() => void pool.transport.close());
	};
	const poolFor = async (record: ClaimedRecord): Promise<Pool> => {
		if (record.configVersion === 0) {
			const left = await pools.get(record.configId)?.catch(() => undefined);
			if (left !== undefined) retire(record.configId, left);
			throw serverGone();
		}
		for (;;) {
			const known = pools.get(record.configId);
			if (known !== undefined) {
				const pool = await known;
				if (pool.version >= record.configVersion) return pool;
				if (pools.get(record.configId) === known) retire(record.configId, pool);
				continue;
			}
			const opening = open(record);
			pools.set(record.configId, opening);
			opening.catch(() => {
				if (pools.get(record.configId) === opening) pools.delete(record.configId);
			});
		}
	};

	return {
		channel: 'MAIL',
		name: 'smtp',
		prepare: async (record) => {
			const attachments = record.attachments === 0 ? [] : await loadAttachments(options.db.pool, [record]);
			try {
				// Last, so that nothing stands between finding the pool and using it: an older version is closed as soon as a newer one is there.
				const pool = await poolFor(record);
				pool.usedAt = monotonic();
				return (handOver, cut, span) => {
					span.set({ 'server.address': pool.host, 'server.port': pool.port });
					return pool.transport.send(toMail(record, attachments), record.hold ? handOver : undefined, cut);
				};
			} catch (error) {
				if (!(error instanceof ServerUnusable)) throw error;
				return async () => refuse(record, error.message);
			}
		},
		probe: async (configId, stop) => {
			try {
				// A pool of its own that sends nothing: what is known of the config may be older than what was mended.
				const transport = transportOf(await loadServer(options.db, options.openSecret, configId), options);
				return await transport.probe(stop).finally(() => transport.close());
			} catch (error) {
				if (!(error instanceof ServerUnusable)) throw error;
				return unfit('CONFIG', 'EBADCONFIG', error.message);
			}
		},
		closeIdle: async () => {
			for (const [configId, opening] of pools) {
				const pool = await opening.catch(() => null);
				// A newer version may have taken its place meanwhile, and has closed it.
				if (pool === null || monotonic() - pool.usedAt < IDLE_MS || pools.get(configId) !== opening) continue;
				pools.delete(configId);
				void pool.transport.close();
			}
		},
		close: async () => {
			const all = await Promise.allSettled(pools.values());
			pools.clear();
			await Promise.all(all.map((one) => (one.status === 'fulfilled' ? one.value.transport.close(true) : undefined)));
		},
	};
}

function transportOf(server: LoadedServer, options: SmtpProviderOptions): SmtpTransport {
	return openTransport(
		{ ...server, slots: options.slots },
		{
			resolveHost: options.resolveHost,
			log: options.log,
			connectMs: options.connectSeconds * 1000,
			readMs: options.readSeconds * 1000,
			deadlineMs: options.deadlineSeconds * 1000,
		},
	);
}

function refuse(record: ClaimedRecord, text: string): Outcome {
	const refusal = unfit('CONFIG', 'EBADCONFIG', text);
	const open = record.recipients.filter((one) => one.outcome === 'OPEN');
	return { kind: 'answered', recipients: open.map(({ n }) => ({ n, kind: 'refused', ...refusal })), providerMessageId: null };
}

function toMail(record: ClaimedRecord, attachments: readonly LoadedAttachment[]): SmtpMail {
	const named = ({ address, name }: { address: string; name: string | null }) => ({ address, name: name ?? '' });
	return {
		recordId: record.id,
		date: record.createdAt,
		from: named(record.from),
		replyTo: record.replyTo === null ? null : named(record.replyTo),
		recipients: record.recipients.map(({ n, role, address, name, outcome }) => ({
			n,
			role,
			address,
			name: name ?? '',
			open: outcome === 'OPEN',
		})),
		subject: record.subject,
		text: record.text,
		html: record.html,
		headers: record.headers,
		attachments,
	};
}
