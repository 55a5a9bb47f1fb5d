import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** A mailbox in a header. */
export type ParsedMailbox = { readonly name: string; readonly address: string };

/** A mail as Python's `email` package reads it: a second opinion that shares no code with what wrote it. */
export type ParsedMail = {
	readonly subject: string;
	readonly messageId: string;
	readonly date: string;
	readonly from: readonly ParsedMailbox[];
	readonly to: readonly ParsedMailbox[];
	readonly cc: readonly ParsedMailbox[];
	readonly replyTo: readonly ParsedMailbox[];
	/** Names of all headers, in lower case. */
	readonly names: readonly string[];
	readonly headers: Readonly<Record<string, string>>;
	readonly defects: readonly string[];
	/** Content types in the order of the tree. */
	readonly types: readonly string[];
	readonly parts: readonly {
		readonly type: string;
		readonly filename: string | null;
		readonly contentId: string | null;
		readonly disposition: string | null;
		readonly text: string | null;
		/** The bytes after transfer decoding. */
		readonly base64: string;
	}[];
};

/** Parses the bytes of a mail by Python. */
export function parseMail(raw: Uint8Array): ParsedMail {
	const { status, stdout, stderr } = spawnSync('python3', [join(import.meta.dirname, 'parse-mail.py')], { input: raw });
	if (status !== 0) throw new Error(`Python could not parse the mail: ${stderr}`);
	return JSON.parse(stdout.toString());
}
