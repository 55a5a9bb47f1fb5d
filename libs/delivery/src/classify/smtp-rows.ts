import type { Category } from '@tidings/model';
import * as says from './smtp-phrases.js';

/**
 * One row of the table of replies. It fits by stage, code and (its enhanced code or its text); a `bare` one also by its code alone.
 * Of the rows that fit, one by text beats one by enhanced code, which beats one by the bare code; of equals the upper one counts.
 */
export type ReplyRow = {
	/** As tests and the reference name it; what is no row there has a name of its own. */
	readonly id: string;
	/** Stages, separated by spaces; `*` is any. */
	readonly stages: string;
	/** Reply codes, separated by spaces; `5yz` is a whole class. */
	readonly codes: string;
	readonly enhanced?: RegExp;
	readonly text?: RegExp;
	/** A text for which it does not fit. */
	readonly unless?: RegExp;
	/** The code alone is enough. */
	readonly bare?: true;
	/** It holds even where the first digits of the two codes disagree. */
	readonly decides?: true;
	readonly category: Category;
	/** Nobody knows whether the mail was taken. */
	readonly ambiguous?: true;
	/** It says that the address itself is bad: only such may feed a suppression. */
	readonly aboutAddress?: true;
};

/** What a server's "no" means. Rows of limits stand first, for a limit that is spent passes by itself, whatever code it is said with. */
export const REPLY_ROWS: readonly ReplyRow[] = [
	// The provider's own limits
	{ id: 'M19', stages: 'AUTH', codes: '421 451', text: says.TOO_MANY_LOGINS, decides: true, category: 'QUOTA' },
	{ id: 'M43', stages: '*', codes: '550', enhanced: /^[45]\.4\.5$/, text: says.SENDING_LIMIT, decides: true, category: 'QUOTA' },
	{ id: 'M44', stages: '*', codes: '550', text: says.FREQUENCY, decides: true, category: 'QUOTA' },
	{ id: 'M45', stages: '*', codes: '421 432', enhanced: /^4\.7\.28$/, text: says.UNUSUAL_RATE, category: 'QUOTA' },
	// At the greeting 421 is a row of its own (M4), and only the text tells the two apart.
	{
		id: 'M45',
		stages: 'TLS EHLO AUTH MAIL RCPT DATA DOT',
		codes: '421 432',
		enhanced: /^4\.3\.2$/,
		unless: says.SHUTTING_DOWN,
		category: 'QUOTA',
	},
	{ id: 'M46', stages: '*', codes: '454', text: says.THROTTLED, decides: true, category: 'QUOTA' },
	{ id: 'M33', stages: 'RCPT', codes: '450 550', text: says.TOO_QUICKLY, decides: true, category: 'QUOTA' },
	// With 550 the enhanced code is that of a disabled mailbox (M31) as well, and only the text tells them apart.
	{ id: 'M33', stages: 'RCPT', codes: '450', enhanced: /^[45]\.2\.1$/, decides: true, category: 'QUOTA' },
	{ id: 'M35', stages: 'RCPT', codes: '452', enhanced: /^4\.2\.2$/, text: says.MAILBOX_FULL, category: 'TRANSIENT' },
	{ id: 'M25', stages: 'MAIL DOT', codes: '452', enhanced: /^4\.3\.1$/, text: says.NO_SPACE, category: 'TRANSIENT' },
	{ id: 'M39', stages: 'MAIL RCPT', codes: '452', text: says.TIMED_LIMIT, unless: says.PER_MAIL, decides: true, category: 'QUOTA' },
	{ id: 'M37', stages: 'RCPT', codes: '452', enhanced: /^4\.5\.3$/, text: says.TOO_MANY_RECIPIENTS, category: 'TRANSIENT' },
	{
		id: 'M38',
		stages: 'RCPT',
		codes: '552',
		enhanced: /^[45]\.5\.3$/,
		text: says.TOO_MANY_RECIPIENTS,
		decides: true,
		category: 'TRANSIENT',
	},

	// The server as a whole
	{ id: 'M4', stages: 'CONN', codes: '421', bare: true, category: 'TRANSIENT' },
	{ id: 'M5', stages: 'CONN', codes: '521 554', text: says.NO_SERVICE, bare: true, category: 'CONFIG' },
	{ id: 'M11', stages: 'EHLO', codes: '501 504 550', text: says.OUR_NAME, bare: true, category: 'CONFIG' },
	// STARTTLS is asked for where it is needed, offered or not: a server without it refuses the command.
	{ id: 'M8', stages: 'TLS', codes: '5yz', enhanced: /^5\./, text: says.PROTOCOL, bare: true, category: 'CONFIG' },
	{ id: 'M9', stages: 'TLS', codes: '454', bare: true, category: 'TRANSIENT' },

	// Logging in
	{ id: 'M12', stages: 'AUTH', codes: '535', bare: true, category: 'AUTH' },
	{ id: 'M13', stages: 'AUTH', codes: '454', bare: true, category: 'TRANSIENT' },
	{ id: 'M14', stages: 'AUTH', codes: '534', bare: true, category: 'AUTH' },
	{ id: 'M15', stages: 'AUTH', codes: '538', bare: true, category: 'CONFIG' },
	{ id: 'M16', stages: 'AUTH', codes: '432', enhanced: /^[45]\.7\.12$/, bare: true, decides: true, category: 'AUTH' },
	{ id: 'M17', stages: 'AUTH', codes: '502 504', enhanced: /^5\.5\.[14]$/, text: says.NO_MECHANISM, bare: true, category: 'CONFIG' },
	{ id: 'M17', stages: 'AUTH', codes: '503', enhanced: /^5\.5\.4$/, text: says.NO_MECHANISM, bare: true, category: 'CONFIG' },
	{ id: 'M10', stages: 'AUTH MAIL RCPT', codes: '530', text: says.NEEDS_TLS, decides: true, category: 'CONFIG' },
	{ id: 'M18', stages: 'AUTH MAIL RCPT', codes: '530', enhanced: /^5\.7\.(0|57)$/, text: says.NEEDS_LOGIN, bare: true, category: 'AUTH' },

	// Who may send, and as whom. Some servers answer MAIL only at RCPT.
	{ id: 'M20', stages: 'MAIL RCPT DOT', codes: '550 553 554', enhanced: /^5\.7\.60$/, text: says.NOT_OWNER, category: 'CONFIG' },
	{ id: 'M21', stages: '*', codes: '554', text: says.NOT_VERIFIED, decides: true, category: 'CONFIG' },
	{ id: 'M22', stages: 'MAIL', codes: '501 553', enhanced: /^5\.1\.7$/, text: says.BAD_SENDER, category: 'CONFIG' },
	{ id: 'M23', stages: 'MAIL', codes: '550', enhanced: /^5\.1\.8$/, text: says.SENDER_REFUSED, category: 'CONFIG' },
	{ id: 'M23', stages: 'RCPT', codes: '550', enhanced: /^5\.1\.8$/, text: says.SENDER_DOMAIN_UNKNOWN, category: 'CONFIG' },
	{ id: 'M40', stages: 'RCPT', codes: '550 551 553 554', text: says.RELAY, category: 'CONFIG' },
	{ id: 'M54', stages: 'DOT', codes: '5yz', enhanced: /^[45]\.7\.2[0-7]$/, text: says.OUR_DOMAIN, decides: true, category: 'CONFIG' },

	// The server's trouble, said with the code of a refusal
	{ id: 'M55', stages: '*', codes: '554', enhanced: /^[45]\.3\.[012]$/, text: says.NOT_ACCEPTING, decides: true, category: 'UNKNOWN' },
	// A recipient that RCPT refused keeps that answer; one that it took is told two things.
	{ id: 'M48', stages: 'DATA', codes: '554', enhanced: /^5\.5\.1$/, text: says.NO_VALID_RECIPIENTS, decides: true, category: 'UNKNOWN' },

	// The mail itself
	{
		id: 'M36',
		stages: 'RCPT DOT',
		codes: '550 552',
		enhanced: /^[45]\.2\.2$/,
		text: says.MAILBOX_FULL,
		decides: true,
		category: 'TRANSIENT',
	},
	{ id: 'M24', stages: 'MAIL DATA DOT', codes: '552', enhanced: /^5\.(3\.4|2\.3)$/, text: says.TOO_LARGE, category: 'INVALID_INPUT' },
	{ id: 'M47', stages: 'RCPT DOT', codes: '550 554', enhanced: /^5\.4\.6$/, text: says.LOOP, category: 'PERMANENT' },
	{ id: 'M53', stages: 'DOT', codes: '550 552 554', enhanced: /^5\.(7\.1|6\.0)$/, text: says.CONTENT, category: 'PERMANENT' },
	{
		id: 'M51',
		stages: 'DOT',
		codes: '451',
		enhanced: /^[45]\.4\.2$/,
		text: says.TIMED_OUT,
		decides: true,
		category: 'TRANSIENT',
		ambiguous: true,
	},
	{ id: 'M52', stages: 'DOT', codes: '421 450 451 452', bare: true, category: 'TRANSIENT' },

	// One recipient
	{ id: 'M34', stages: 'RCPT', codes: '450 451', enhanced: /^4\.7\.1$/, text: says.GREYLISTED, category: 'TRANSIENT' },
	{ id: 'M26', stages: 'RCPT', codes: '550 553', enhanced: /^5\.6\.7$/, text: says.NO_UTF8, category: 'INVALID_INPUT' },
	{
		id: 'M30',
		stages: 'RCPT',
		codes: '501 553',
		enhanced: /^5\.1\.3$/,
		text: says.BAD_ADDRESS,
		category: 'INVALID_INPUT',
		aboutAddress: true,
	},
	{ id: 'M31', stages: 'RCPT', codes: '550', enhanced: /^5\.2\.1$/, text: says.DISABLED, category: 'PERMANENT', aboutAddress: true },
	{
		id: 'M28',
		stages: 'RCPT',
		codes: '550',
		enhanced: /^5\.(1\.2|4\.4)$/,
		text: says.NO_DOMAIN,
		category: 'PERMANENT',
		aboutAddress: true,
	},
	{ id: 'M29', stages: 'RCPT', codes: '550', enhanced: /^5\.1\.10$/, text: says.NULL_MX, category: 'PERMANENT', aboutAddress: true },
	{ id: 'M29', stages: 'RCPT', codes: '556', bare: true, category: 'PERMANENT', aboutAddress: true },
	{
		id: 'M27',
		stages: 'RCPT DOT',
		codes: '550 553',
		enhanced: /^5\.1\.1$/,
		text: says.USER_UNKNOWN,
		category: 'PERMANENT',
		aboutAddress: true,
	},
	{ id: 'M32', stages: 'RCPT', codes: '551', enhanced: /^5\.1\.6$/, text: says.MOVED, category: 'PERMANENT', aboutAddress: true },
	{ id: 'M41', stages: 'RCPT', codes: '550 554', enhanced: /^5\.7\.1$/, text: says.POLICY, category: 'PERMANENT' },

	{ id: 'M56', stages: '*', codes: '500 501 502 503', enhanced: /^5\.5\.[12]$/, text: says.PROTOCOL, category: 'UNKNOWN' },
	// No row of its own: the class decides (RFC 5321 §4.2)
	{ id: 'M59', stages: '*', codes: '4yz', bare: true, category: 'TRANSIENT' },
	{ id: 'M60', stages: '*', codes: '5yz', bare: true, category: 'PERMANENT' },
];

/** A row for a conversation that broke without a reply: the first that fits counts. */
type SilenceRow = {
	readonly id: string;
	/** Stages, separated by spaces; `*` is any. */
	readonly stages: string;
	/** System or TLS error codes, separated by spaces; `*` is any. Those that no system has are the transport's own. */
	readonly errnos: string;
	readonly category: Category;
	readonly ambiguous?: true;
};

const LINE_BROKEN = 'ECONNABORTED ECONNREFUSED ECONNRESET EHOSTDOWN EHOSTUNREACH ENETDOWN ENETUNREACH EPIPE ETIMEDOUT';

/** What it means when no whole reply came. */
export const SILENCE_ROWS: readonly SilenceRow[] = [
	// The host is one that may not be dialled.
	{ id: 'own host', stages: '*', errnos: 'EHOSTREFUSED', category: 'CONFIG' },
	// The config itself cannot be used, such as a DKIM key that is no key.
	{ id: 'own config', stages: '*', errnos: 'EBADCONFIG', category: 'CONFIG' },
	// There are no credentials to log in with.
	{ id: 'own login', stages: '*', errnos: 'ENOCREDENTIALS', category: 'AUTH' },
	// The mail cannot be put on the wire as it is.
	{ id: 'own mail', stages: '*', errnos: 'EBADMAIL', category: 'INVALID_INPUT' },
	// The transport is being closed.
	{ id: 'own end', stages: '*', errnos: 'ECLOSED', category: 'TRANSIENT' },
	// An address needs SMTPUTF8 and the server does not have it (RFC 6531).
	{ id: 'M26', stages: '*', errnos: 'ENOSMTPUTF8', category: 'INVALID_INPUT' },
	{ id: 'M1', stages: '*', errnos: 'EAI_AGAIN ENOTFOUND', category: 'TRANSIENT' },
	{ id: 'M3', stages: 'CONN', errnos: 'ENOGREETING', category: 'TRANSIENT' },
	{ id: 'M2', stages: 'CONFIG CONN', errnos: LINE_BROKEN, category: 'TRANSIENT' },
	{ id: 'M7', stages: 'TLS', errnos: LINE_BROKEN, category: 'TRANSIENT' },
	// Within a handshake all but a broken line is about certificates and versions, which waiting does not mend.
	{ id: 'M6', stages: 'TLS', errnos: '*', category: 'CONFIG' },
	{ id: 'M49', stages: 'EHLO AUTH MAIL RCPT DATA', errnos: LINE_BROKEN, category: 'TRANSIENT' },
	{ id: 'M50', stages: 'DOT', errnos: LINE_BROKEN, category: 'UNKNOWN', ambiguous: true },
	{ id: 'M58', stages: 'DOT', errnos: '*', category: 'UNKNOWN', ambiguous: true },
	{ id: 'M58', stages: '*', errnos: '*', category: 'UNKNOWN' },
];
