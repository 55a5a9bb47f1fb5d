import { ERRORS, PROBLEM_BASE, Problem } from '@tidings/model';

/** The media type of every refusal (RFC 9457). */
export const PROBLEM_TYPE = 'application/problem+json';

/** Faults that one answer lists at most; `detail` says how many more there were. */
const LISTED_FAULTS = 1_000;

/** Characters of a pointer at most: names in it are the caller's. */
const LONGEST_POINTER = 200;

/** Seconds after which a caller may repeat when the database is away. */
const AWAY_RETRY_SECONDS = 2;

/** A step of a path that holds an address: paths of ours never do. */
const ADDRESS_STEP = /[^/]*(?:@|%40)[^/]*/gi;

/** What a status line, headers and body of a refusal are made of. */
export type RenderedProblem = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string };

/** Renders a refusal. `instance` is the path of the request, without addresses; a query may hold them, too, and never stands in an answer. */
export function renderProblem(problem: Problem, at: { instance: string; traceId: string }): RenderedProblem {
	const { status, title } = ERRORS[problem.code];
	const more = problem.faults.length - LISTED_FAULTS;
	const body = JSON.stringify({
		type: PROBLEM_BASE + problem.code,
		title,
		status,
		detail: more > 0 ? `${problem.message} The first ${LISTED_FAULTS} faults are listed; there are ${more} more.` : problem.message,
		instance: at.instance.replace(ADDRESS_STEP, '*'),
		code: problem.code,
		traceId: at.traceId,
		errors: problem.faults
			.slice(0, LISTED_FAULTS)
			.map((one) => (one.pointer.length > LONGEST_POINTER ? { ...one, pointer: `${one.pointer.slice(0, LONGEST_POINTER)}…` } : one)),
	});
	return {
		status,
		headers: {
			'content-type': PROBLEM_TYPE,
			...(problem.retryAfterSeconds === null ? {} : { 'retry-after': String(problem.retryAfterSeconds) }),
			...(status === 401 ? { 'www-authenticate': problem.code === 'credential-refused' ? 'Bearer error="invalid_token"' : 'Bearer' } : {}),
		},
		body,
	};
}

/** Turns whatever was thrown into a refusal. Texts of drivers stay in `cause`, for the log. `isAway`: whether an error means that the database cannot be reached. */
export function problemOf(error: unknown, isAway: (error: unknown) => boolean): Problem {
	if (error instanceof Problem) return error;
	const { code, statusCode } = (typeof error === 'object' && error !== null ? error : {}) as { code?: unknown; statusCode?: unknown };
	if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
		return new Problem('unsupported-media-type', 'Send `Content-Type: application/json`.', { cause: error });
	if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
		return new Problem('malformed-request', 'The request cannot be read: its line, its headers or its length are not right.', {
			cause: error,
		});
	}
	if (isAway(error)) {
		return new Problem('dependency-away', 'The database cannot be reached or is overloaded. Repeat the request.', {
			cause: error,
			retryAfterSeconds: AWAY_RETRY_SECONDS,
		});
	}
	return new Problem('internal-error', 'Something went wrong here. Quote the traceId when you report it.', { cause: error });
}
