import type { Category, Stage } from '@tidings/model';
import { ABOUT_US } from './smtp-phrases.js';
import { REPLY_ROWS, type ReplyRow, SILENCE_ROWS } from './smtp-rows.js';

/** What is known of one "no" (or of a silence) of an SMTP server. */
export type SmtpFacts = {
	/** Where the conversation was. */
	readonly stage: Stage;
	/** Basic reply code; null when no whole reply came. */
	readonly code: string | null;
	readonly enhancedCode: string | null;
	readonly text: string;
	/** What broke instead of a reply: a system or TLS error code, or one of the transport's own; null when a reply came. */
	readonly errno: string | null;
};

/** What a "no" or a silence means. */
export type SmtpVerdict = {
	/** The row of the table that decided. */
	readonly row: string;
	readonly category: Category;
	/** Nobody knows whether the mail was taken. */
	readonly ambiguous: boolean;
	/** The answer says that the recipient's address itself is bad. Never so when it is about the sender, a policy or a reputation. */
	readonly aboutAddress: boolean;
};

/** Why the server's answer, or its silence, was not a yes. Always gives a verdict: what nobody can read is UNKNOWN. A whole reply beats the error that came after it. */
export function classifySmtp(facts: SmtpFacts): SmtpVerdict {
	const row = facts.code === null ? undefined : rowOfReply(facts, facts.code);
	if (row !== undefined) {
		const aboutAddress = row.aboutAddress === true && !ABOUT_US.test(wordsOf(facts.text));
		return { row: row.id, category: row.category, ambiguous: row.ambiguous === true, aboutAddress };
	}
	// A reply that is neither yes nor no where one was due says as little as none.
	const errno = facts.code === null ? facts.errno : 'EPROTO';
	const silence = SILENCE_ROWS.find((one) => has(one.stages, facts.stage) && has(one.errnos, errno ?? 'EPROTO'));
	return {
		row: silence?.id ?? 'M58',
		category: silence?.category ?? 'UNKNOWN',
		ambiguous: silence?.ambiguous === true,
		aboutAddress: false,
	};
}

/** Whether a refusal at RCPT is only about the number of recipients, so that a new transaction may take this one at once (RFC 5321 §4.5.3.1.10). */
export function isForNumber(facts: Omit<SmtpFacts, 'errno'>): boolean {
	const { row } = classifySmtp({ ...facts, errno: null });
	return row === 'M37' || row === 'M38';
}

function rowOfReply(facts: SmtpFacts, code: string): ReplyRow | undefined {
	const words = wordsOf(facts.text);
	let best: ReplyRow | undefined;
	let bestRank = 0;
	for (const row of REPLY_ROWS) {
		const byCode = has(row.codes, code) ? 2 : has(row.codes, `${code.charAt(0)}yz`) ? 1 : 0;
		if (byCode === 0 || !has(row.stages, facts.stage)) continue;
		const rank = Math.max(rankOf(row, { code, enhancedCode: facts.enhancedCode, words }), bareRankOf(row, byCode));
		if (rank > bestRank) {
			best = row;
			bestRank = rank;
		}
	}
	return best;
}

/** 0: it does not fit by what it says. Text beats enhanced code; both together, or the text of a row that decides, beat either. */
function rankOf(row: ReplyRow, { code, enhancedCode, words }: { code: string; enhancedCode: string | null; words: string }): number {
	const agree = enhancedCode === null || enhancedCode.charAt(0) === code.charAt(0) || row.decides === true;
	if (!agree || row.unless?.test(words) === true) return 0;
	const byEnhanced = enhancedCode !== null && row.enhanced?.test(enhancedCode) === true;
	if (row.text?.test(words) === true) return byEnhanced || row.decides === true ? 6 : 5;
	return byEnhanced ? 4 : 0;
}

/** 0: the code alone is not enough. A row of one stage stands above one of all, one code above a class. */
function bareRankOf(row: ReplyRow, byCode: 1 | 2): number {
	if (row.bare !== true) return 0;
	return row.stages === '*' ? byCode : byCode + 1;
}

/** The text without mail addresses and links: `relay@example.com` says nothing about relaying. */
function wordsOf(text: string): string {
	return text.replace(/https?:\/\/[!-~]+/gi, ' ').replace(/[\w.+%=-]{1,64}@[\w.-]{1,255}/g, ' ');
}

function has(list: string, item: string): boolean {
	return list === '*' || list.split(' ').includes(item);
}
