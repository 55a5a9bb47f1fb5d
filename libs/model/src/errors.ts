/** One row of the error catalogue: what a code means over HTTP (RFC 9457) and what a caller does about it. */
export type ErrorRow = {
	readonly status: number;
	readonly title: string;
	/** Whether the same request can succeed later without being changed. */
	readonly retryable: boolean;
	/** What happened and what to do: the paragraph of docs/errors.md. */
	readonly help: string;
};

/** Every problem code that a whole request can be answered with. */
export const ERRORS = {
	'malformed-request': {
		status: 400,
		title: 'The request cannot be read',
		retryable: false,
		help: 'The body is not JSON, is not UTF-8, is nested too deeply, or a query field or header has a form that cannot be read. `detail` says which. Mend the request.',
	},
	'credential-missing': {
		status: 401,
		title: 'A credential is needed',
		retryable: false,
		help: 'The request came without a credential. Send `Authorization: Bearer` with an API key, or with a JWT where the operator takes them.',
	},
	'credential-refused': {
		status: 401,
		title: 'The credential is not valid',
		retryable: false,
		help: 'The API key is unknown, revoked or expired: check for a cut-off copy, or make a new key. Or the token is not one that the operator takes, or its time is over: `detail` says which. Get a fresh one from its issuer.',
	},
	'capability-missing': {
		status: 403,
		title: 'The credential may not do this',
		retryable: false,
		help: 'The credential is valid but lacks the capability that `detail` names. Use another key, or make one that holds it.',
	},
	'tenant-not-active': {
		status: 403,
		title: 'The tenant takes no messages',
		retryable: false,
		help: 'The operator has suspended the tenant, or is deleting it. Nothing was written. What was accepted before waits while the tenant is suspended, and can still be read. Ask the operator.',
	},
	'not-found': {
		status: 404,
		title: 'There is no such thing',
		retryable: false,
		help: 'The path or the id names nothing that this credential can see. What belongs to another tenant is answered in the same way.',
	},
	'method-not-allowed': {
		status: 405,
		title: 'This path has no such method',
		retryable: false,
		help: 'The path exists, but not for this method. `Allow` lists the methods it has.',
	},
	'state-conflict': {
		status: 409,
		title: 'The state does not allow this',
		retryable: false,
		help: 'The thing is in a state in which this act has no meaning, or another act was quicker. `detail` says the state. Read it again and decide anew.',
	},
	'idempotency-in-flight': {
		status: 409,
		title: 'A twin of this request is in flight',
		retryable: true,
		help: 'Another request with the same `Idempotency-Key`, or with the same `dedupeKey` and recipients, is being accepted right now. Repeat the request: it will be answered with what that twin made.',
	},
	'name-taken': {
		status: 409,
		title: 'The name is taken',
		retryable: false,
		help: 'Something of this kind already has this name. Choose another.',
	},
	'precondition-failed': {
		status: 412,
		title: 'It was changed meanwhile',
		retryable: false,
		help: 'The `If-Match` of the request names an older state than the one that stands. Read the thing again, see whether your change is still right, and repeat it with its new `ETag`.',
	},
	'precondition-required': {
		status: 428,
		title: 'If-Match is needed',
		retryable: false,
		help: 'Changes of this thing need `If-Match` with the `ETag` of what you read, so that nobody overwrites what they have not seen (RFC 6585). Read it first.',
	},
	'rate-limited': {
		status: 429,
		title: 'Too many requests',
		retryable: true,
		help: 'This credential sends more requests a second than the operator allows. Nothing was written. Repeat after the `Retry-After` seconds; send many messages by `:batch`.',
	},
	'quota-exceeded': {
		status: 429,
		title: 'The monthly quota is used up',
		retryable: true,
		help: 'The request costs more than is left of the quota of this month; a mail costs its recipients. Nothing was written, also of a batch of which a part would have fitted. `GET /v1/quota-usage` shows what is left. Send less, ask the operator for more, or repeat after the `Retry-After` seconds: then the next month (UTC) has begun.',
	},
	'body-too-large': {
		status: 413,
		title: 'The request is too large',
		retryable: false,
		help: 'The whole request, or the attachments together, are above the limit that `detail` gives. Send less, or send a link to the file.',
	},
	'unsupported-media-type': {
		status: 415,
		title: 'The body is not application/json',
		retryable: false,
		help: 'Send `Content-Type: application/json` and a JSON body in UTF-8, without a content coding.',
	},
	'invalid-request': {
		status: 422,
		title: 'The request is well-formed but refused',
		retryable: false,
		help: '`errors` lists every fault at once: where (a JSON Pointer into the body), which (`code`), and what to do (`detail`). Nothing was written.',
	},
	'idempotency-mismatch': {
		status: 422,
		title: 'The Idempotency-Key was used for another body',
		retryable: false,
		help: 'This `Idempotency-Key` has already accepted a request whose body differs. Use a fresh key for a new request; repeat an old request byte for byte.',
	},
	'internal-error': {
		status: 500,
		title: 'Something went wrong here',
		retryable: true,
		help: 'A defect of Tidings. Nothing was lost that was answered with 202. Quote the `traceId` when you report it.',
	},
	overloaded: {
		status: 503,
		title: 'Too much is asked for at once',
		retryable: true,
		help: 'The bodies of all requests that are being worked on are together larger than this server holds, or more are counting for statistics than wait in line. Nothing was written. Repeat after the `Retry-After` seconds, or send fewer large requests at a time.',
	},
	'dependency-away': {
		status: 503,
		title: 'A service that is needed is away',
		retryable: true,
		help: 'The database cannot be reached or is overloaded, or the keys that prove a token cannot be fetched. Repeat after the `Retry-After` seconds, with the same `Idempotency-Key`: a request that was accepted after all is then answered with its id.',
	},
} as const satisfies Record<string, ErrorRow>;
export type ErrorCode = keyof typeof ERRORS;

/** Every code of one fault inside a request (`errors[].code`): what it means and what to do. */
export const FAULTS = {
	required: 'The field is missing. Add it.',
	'unknown-field': 'There is no such field here. Check the spelling; unknown fields are refused so that nothing is ignored silently.',
	'wrong-type':
		'The value has another JSON type than the field. Send the type that `detail` names; nothing is converted, so `"5"` is no number.',
	'too-long': 'The text is longer than the limit that `detail` gives. Shorten it; characters are counted as UTF-16 code units.',
	'too-short':
		'The text is shorter than the least that `detail` gives. Where it may be left out, leave it out instead of sending it empty.',
	'too-many': 'The list or object has more entries than the limit that `detail` gives. Spread them over several requests.',
	'too-few':
		'The list or object has fewer entries than the least that `detail` gives. Add what is missing, or leave out the field where it is optional.',
	'out-of-range': 'The number is outside the range that `detail` gives. Choose one inside.',
	'not-one-of': 'The value is none of those that `detail` lists. Choose one of them; upper and lower case count.',
	'bad-format': 'The text does not have the form that `detail` describes. Rewrite it in that form.',
	'control-character':
		'The text holds a control character, a line break or a lone surrogate where none may stand. `detail` says which and where: remove it.',
	'bad-address':
		'The text is not one plain mail address (`local@domain`; no lists, groups, comments or quoted local parts). Give a display name in `name`.',
	'header-not-allowed':
		'Only `X-*`, `List-*`, `Auto-Submitted`, `Precedence`, `References` and `In-Reply-To` may be set. The others are made from the fields of the mail.',
	'bad-base64':
		'The content is not base64 (RFC 4648 §4, with padding, without line breaks). Encode it anew; the alphabet for URLs is another one.',
	'no-content': 'A mail needs a `subject` and at least one of `text` and `html`. Add what is missing; an empty text counts as missing.',
	'no-mail-server': 'The tenant has no active mail server, and the platform has none to lend. Create one with `POST /v1/mail-servers`.',
	'server-unknown':
		'The pinned `serverId` is not an active mail server of this tenant. Look for it with `GET /v1/mail-servers`, or leave it out for the default.',
	'from-not-allowed': 'The mail server does not allow this From address. Use one that its `allowedFrom` covers.',
	'not-available': 'The field belongs to a feature that this release does not have yet. Leave it out.',
	'in-the-past': 'The time has passed already. Choose a later one; check the zone.',
	'out-of-order': 'The two times contradict each other. `detail` says which must be the earlier.',
	contradiction: 'The field contradicts another one, which `detail` names. Change one of the two.',
	'host-not-allowed':
		'The host is, or resolves to, a private, loopback, link-local or reserved address, which the operator does not allow. Use a public one, or ask the operator (`TIDINGS_ALLOW_PRIVATE_HOSTS`).',
	'host-unknown': 'The host name cannot be resolved. Check its spelling, and that it has an address.',
	'platform-only': 'Only a credential with the capability `platform` may ask for this. Leave it out, or use such a credential.',
	'needs-content-read':
		'Only a credential with the capability `content:read` may choose by this: how much matches would tell what is masked for others. Leave it out, or use such a credential.',
	duplicate: 'The same entry stands twice. Remove one.',
	'over-quota':
		'With this item the batch costs more than is left of the monthly quota. Send those before it by themselves, or the whole batch next month.',
} as const satisfies Record<string, string>;
export type FaultCode = keyof typeof FAULTS;

/** One fault of a request: where, which, and what to do. */
export type Fault = { readonly pointer: string; readonly code: FaultCode; readonly detail: string };

/** The base of every problem `type` (RFC 9457 §3.1.1). */
export const PROBLEM_BASE = 'https://tidings.dev/problems/';

/** A refusal that the HTTP edge answers as problem+json. Throwing it means: the caller is told exactly this. */
export class Problem extends Error {
	readonly code: ErrorCode;
	readonly faults: readonly Fault[];
	/** Seconds for `Retry-After`; null leaves the header out. */
	readonly retryAfterSeconds: number | null;

	constructor(code: ErrorCode, detail: string, options: { faults?: readonly Fault[]; retryAfterSeconds?: number; cause?: unknown } = {}) {
		super(detail, { cause: options.cause });
		this.name = 'Problem';
		this.code = code;
		this.faults = options.faults ?? [];
		this.retryAfterSeconds = options.retryAfterSeconds ?? null;
	}
}
