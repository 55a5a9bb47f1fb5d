import { renameSync, writeFileSync } from 'node:fs';
import type { Bootstrapped } from '@tidings/message-api';
import { firstMail } from './first-mail.js';

/** What runs where, as `standalone.json` says it. */
export type Facts = Bootstrapped & {
	readonly pid: number;
	/** Origin, without a path. */
	readonly api: string;
	readonly openapi: string;
	readonly mail: { readonly smtp: string; readonly web: string; readonly api: string };
	readonly metrics: string;
};

/** Writes the facts for programs (mode 0600, whole or not at all) and prints them for people. */
export function announce(facts: Facts, file: string): void {
	writeFileSync(`${file}.new`, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600, flush: true });
	renameSync(`${file}.new`, file);
	process.stdout.write(`
Tidings is ready.

  API          ${facts.api}   (read about it at ${facts.api}/docs)
  API key      ${facts.apiKey}
  Admin key    ${facts.platformKey}
  Mails        ${facts.mail.web}   every mail that is sent arrives here
  Metrics      ${facts.metrics}

Send a first mail:

${firstMail(facts.api, facts.apiKey)}

Ctrl-C stops it. What was accepted is kept, also when it is killed. The same is written to ${file}
`);
}
