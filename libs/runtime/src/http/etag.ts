import { Problem } from '@tidings/model';

/** The entity tag of a thing that counts its changes (RFC 9110 §8.8.3). */
export function etagOf(version: number): string {
	return `"${version}"`;
}

/** What a request names as the state that it has seen. */
type Guarded = { readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> };

/** Throws 428 when there is no `If-Match`, and 400 when it cannot be one. */
export function requireIfMatch(request: Guarded): void {
	const given = request.headers['if-match'];
	if (given === undefined) throw new Problem('precondition-required', 'Send `If-Match` with the `ETag` of what you have read.');
	if (typeof given !== 'string' || !FORM.test(given.trim()))
		throw new Problem('malformed-request', '`If-Match` must be an ETag in double quotes, several separated by commas, or `*`.');
}

/** Throws 412 when `If-Match` names another state than the one that stands. A weak tag never matches (RFC 9110 §13.1.1). */
export function refuseStale(request: Guarded, version: number): void {
	const given = String(request.headers['if-match'] ?? '').trim();
	if (given === '*' || given.split(',').some((one) => one.trim() === etagOf(version))) return;
	throw new Problem('precondition-failed', `It was changed meanwhile: its ETag is ${etagOf(version)} now.`);
}

const TAG = '(W/)?"[\\x21\\x23-\\x7e]*"';
const FORM = new RegExp(`^(\\*|${TAG}(\\s*,\\s*${TAG})*)$`);
