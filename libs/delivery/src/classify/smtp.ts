import type { Category, Stage } from '@tidings/model';

/** What is known of one "no" (or of a silence) of an SMTP server. */
export type SmtpFacts = {
	/** Where the conversation was. */
	readonly stage: Stage;
	/** Basic reply code; null when no whole reply came. */
	readonly code: string | null;
	readonly enhancedCode: string | null;
	readonly text: string;
	/** What broke instead of a reply: a system or TLS error code, or one of `ERRNO_ROWS`; null when a reply came. */
	readonly errno: string | null;
};

/**
 * One row of the table. It fits by stage, code and (its enhanced code or its text); a row that has neither fits by its code.
 * Of the rows that fit, text beats enhanced code, which beats the bare code; of equals the upper one counts.
 */
type ReplyRow = {
	/** Stages, separated by spaces; `*` is any. */
	readonly stages: string;
	/** Reply codes, separated by spaces; `5yz` is a whole class. */
	readonly codes: string;
	readonly enhanced?: RegExp;
	readonly text?: RegExp;
	/** The row holds even where the first digits of the two codes disagree. */
	readonly decides?: true;
	readonly category: Category;
};

const REPLY_ROWS: readonly ReplyRow[] = [
	// The server as a whole
	{ stages: 'CONN', codes: '521 554', category: 'CONFIG' },
	{ stages: 'EHLO', codes: '501 504 550', category: 'CONFIG' },
	{ stages: 'TLS', codes: '5yz', category: 'CONFIG' },
	{ stages: 'MAIL RCPT DATA DOT', codes: '554', enhanced: /^5\.3\.[012]$/, decides: true, category: 'UNKNOWN' },
	{ stages: 'MAIL RCPT DATA DOT', codes: '500 501 502 503', enhanced: /^5\.5\.[12]$/, category: 'UNKNOWN' },

	// Logging in
	{ stages: 'AUTH', codes: '530 534 535', category: 'AUTH' },
	{ stages: 'AUTH', codes: '432', decides: true, category: 'AUTH' },
	{ stages: 'AUTH', codes: '538', category: 'CONFIG' },
	{ stages: 'AUTH', codes: '502 503 504', category: 'CONFIG' },
	{ stages: 'AUTH', codes: '421 451', text: /too many|failed log-?ins?/i, decides: true, category: 'QUOTA' },
	{ stages: 'MAIL RCPT', codes: '530', category: 'AUTH' },
	{ stages: 'MAIL RCPT', codes: '530', text: /starttls/i, decides: true, category: 'CONFIG' },

	// Who may send, and as whom
	{ stages: 'MAIL RCPT DOT', codes: '550 553 554', enhanced: /^5\.7\.60$/, text: /not owned|not owner|send as/i, category: 'CONFIG' },
	{ stages: '*', codes: '554', text: /not verified/i, decides: true, category: 'CONFIG' },
	{ stages: 'MAIL', codes: '501 553', enhanced: /^5\.1\.7$/, category: 'CONFIG' },
	{ stages: 'MAIL', codes: '550', enhanced: /^5\.1\.8$/, category: 'CONFIG' },
	{
		stages: 'RCPT',
		codes: '550 551 553 554',
		text: /\brelay(ing)? (access )?(denied|not|prohibited)|(to|not) relay\b/i,
		category: 'CONFIG',
	},
	{ stages: 'DOT', codes: '5yz', enhanced: /^5\.7\.2[0-7]$/, text: /\b(SPF|DKIM|DMARC)\b/i, decides: true, category: 'CONFIG' },

	// The mail itself
	{
		stages: 'MAIL DATA DOT',
		codes: '552',
		enhanced: /^5\.(3\.4|2\.3)$/,
		text: /too (large|big)|message size|size limit/i,
		category: 'INVALID_INPUT',
	},

	// One recipient
	{ stages: 'RCPT', codes: '550 553', enhanced: /^5\.6\.7$/, category: 'INVALID_INPUT' },
	{ stages: 'RCPT', codes: '501 553', enhanced: /^5\.1\.3$/, category: 'INVALID_INPUT' },
	{
		stages: 'RCPT DOT',
		codes: '550 552',
		enhanced: /^5\.2\.2$/,
		text: /mailbox.*(full|quota)|over ?quota/i,
		decides: true,
		category: 'TRANSIENT',
	},
	{ stages: 'RCPT', codes: '452', enhanced: /^4\.2\.2$/, text: /mailbox|storage/i, category: 'TRANSIENT' },
	{ stages: 'RCPT', codes: '552', enhanced: /^5\.5\.3$/, text: /too many recipients/i, decides: true, category: 'TRANSIENT' },

	// The provider's own limits
	{ stages: 'MAIL RCPT', codes: '452', text: /daily|per (hour|day)|limit/i, decides: true, category: 'QUOTA' },
	{ stages: 'RCPT', codes: '450 550', text: /too (quickly|fast)|receiving mail at a rate/i, decides: true, category: 'QUOTA' },
	{
		stages: '*',
		codes: '550',
		enhanced: /^5\.4\.5$/,
		text: /daily.*(limit|quota)|sending (limit|quota)/i,
		decides: true,
		category: 'QUOTA',
	},
	{ stages: '*', codes: '550', text: /frequency limited/i, decides: true, category: 'QUOTA' },
	{ stages: '*', codes: '421 432', enhanced: /^4\.7\.28$/, text: /unusual rate|thread limit|HL:IFC/i, category: 'QUOTA' },
	{ stages: '*', codes: '454', text: /throttl|\b(rate|daily).*(exceeded|quota)/i, decides: true, category: 'QUOTA' },

	// No row of its own: the class decides (RFC 5321 §4.2)
	{ stages: '*', codes: '4yz', category: 'TRANSIENT' },
	{ stages: '*', codes: '5yz', category: 'PERMANENT' },
];

/** No whole reply came: what broke says it. Names that no system has are the transport's own. */
const ERRNO_ROWS: Readonly<Record<string, Category>> = {
	EAI_AGAIN: 'TRANSIENT',
	ECONNABORTED: 'TRANSIENT',
	ECONNREFUSED: 'TRANSIENT',
	ECONNRESET: 'TRANSIENT',
	EHOSTDOWN: 'TRANSIENT',
	EHOSTUNREACH: 'TRANSIENT',
	ENETDOWN: 'TRANSIENT',
	ENETUNREACH: 'TRANSIENT',
	ENOTFOUND: 'TRANSIENT',
	EPIPE: 'TRANSIENT',
	ETIMEDOUT: 'TRANSIENT',
	/** The transport is being closed. */
	ECLOSED: 'TRANSIENT',
	/** The host is one that may not be dialled. */
	EHOSTREFUSED: 'CONFIG',
	/** The config itself cannot be used, such as a DKIM key that is no key. */
	EBADCONFIG: 'CONFIG',
	/** No credentials to log in with. */
	ENOCREDENTIALS: 'AUTH',
	/** An address needs SMTPUTF8 and the server does not have it (RFC 6531). */
	ENOSMTPUTF8: 'INVALID_INPUT',
	/** The mail cannot be put on the wire as it is. */
	EBADMAIL: 'INVALID_INPUT',
};

/** Why the server's answer, or its silence, was not a yes. Always gives a category: what nobody can read is UNKNOWN. */
export function classifySmtp(facts: SmtpFacts): Category {
	if (facts.code !== null) return classifyReply(facts, facts.code);
	if (facts.errno === null) return 'UNKNOWN';
	// Within a handshake all but a broken line is about certificates and versions, which waiting does not mend.
	return ERRNO_ROWS[facts.errno] ?? (facts.stage === 'TLS' ? 'CONFIG' : 'UNKNOWN');
}

/** Whether a refusal after the final dot leaves open if the mail was taken: the server timed out by itself (RFC 3463 4.4.2). */
export function isUnsure(facts: Omit<SmtpFacts, 'errno'>): boolean {
	return facts.stage === 'DOT' && facts.code === '451' && (facts.enhancedCode === '4.4.2' || /time(d)?[ -]?out/i.test(facts.text));
}

function classifyReply(facts: SmtpFacts, code: string): Category {
	let best: Category = 'UNKNOWN';
	let bestRank = 0;
	for (const row of REPLY_ROWS) {
		const rank = rankOf(row, facts, code);
		if (rank > bestRank) {
			best = row.category;
			bestRank = rank;
		}
	}
	return best;
}

/** 0 does not fit; else the higher, the closer: class, bare code, enhanced code, text. */
function rankOf(row: ReplyRow, facts: SmtpFacts, code: string): number {
	if (row.stages !== '*' && !row.stages.split(' ').includes(facts.stage)) return 0;
	const codes = row.codes.split(' ');
	const byCode = codes.includes(code) ? 2 : codes.includes(`${code.charAt(0)}yz`) ? 1 : 0;
	if (byCode === 0) return 0;
	if (row.enhanced === undefined && row.text === undefined) return row.stages === '*' ? byCode : byCode + 1;
	const agree = facts.enhancedCode === null || facts.enhancedCode.charAt(0) === code.charAt(0) || row.decides === true;
	if (agree && row.text?.test(facts.text) === true) return 5;
	if (agree && facts.enhancedCode !== null && row.enhanced?.test(facts.enhancedCode) === true) return 4;
	return 0;
}
