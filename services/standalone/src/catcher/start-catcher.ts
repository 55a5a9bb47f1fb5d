import { join } from 'node:path';
import type { Logger } from '@tidings/telemetry';
import { MailStore } from './mail-store.js';
import { MAIL_LIMIT_BYTES, receiveMails } from './receive-mails.js';
import { serveMails } from './serve-mails.js';

/** The ports that a running catcher listens on, and how to stop it: mails being received are finished first, for at most two seconds. */
export type Catcher = { smtpPort: number; webPort: number; close(): Promise<void> };

/** Mails kept; older ones are deleted. */
const KEEP = 10_000;

/**
 * Starts the mail catcher: it takes every mail by SMTP, keeps the newest 10,000 in `<dataDir>/mails` (they outlive a `kill -9`), and shows
 * them on a page and by an API. Both ports are on 127.0.0.1; 0 is any free one. Throws a sentence naming the flag when a port is taken.
 */
export async function startCatcher(options: { dataDir: string; smtpPort: number; webPort: number; log: Logger }): Promise<Catcher> {
	const { dataDir, log } = options;
	const store = await MailStore.open({ folder: join(dataDir, 'mails'), keep: KEEP, sizeLimit: MAIL_LIMIT_BYTES });
	try {
		const smtp = await receiveMails({ store, port: options.smtpPort, log });
		try {
			const web = await serveMails({ store, port: options.webPort, smtpPort: smtp.port, log });
			log.info({ smtpPort: smtp.port, webPort: web.port }, 'mail catcher started');
			return {
				smtpPort: smtp.port,
				webPort: web.port,
				async close() {
					await Promise.all([smtp.close(), web.close()]);
					await store.close();
				},
			};
		} catch (error) {
			await smtp.close();
			throw error;
		}
	} catch (error) {
		await store.close();
		throw error;
	}
}
