import { type Accepted, type AcceptResult, type Db, findKeys, type IdempotencyKey } from '@tidings/db';
import { LIMITS, Problem } from '@tidings/model';
import type { OperationRequest } from '@tidings/runtime';
import { overQuota } from './quota/refuse-over-quota.js';

/** Reads the Idempotency-Key of a submitting request; null when there is none. Throws 400 when it is no such key. */
export function readIdempotencyKey(request: OperationRequest, tenantId: string, operation: string): IdempotencyKey | null {
	const key = request.headers['idempotency-key'];
	if (key === undefined) return null;
	if (typeof key !== 'string' || key.length > LIMITS.idempotencyKey || !/^[!-~]+$/.test(key)) {
		throw new Problem('malformed-request', `\`Idempotency-Key\` must have 1 to ${LIMITS.idempotencyKey} visible ASCII characters.`);
	}
	if (request.bodySha256 === null) throw new Problem('malformed-request', 'The body is missing: send a JSON object.');
	return { tenantId, operation, key, bodySha256: request.bodySha256 };
}

/** What a caller is told about an accepted request, and whether it was told before. Throws the refusals that a key or the quota can cause. `kind`: whether the request has items; default `one`. */
export function answerOf(result: AcceptResult, kind: 'one' | 'batch' = 'one'): { readonly accepted: Accepted; readonly replayed: boolean } {
	switch (result.kind) {
		case 'accepted':
			return { accepted: result, replayed: false };
		case 'replayed':
			return { accepted: result, replayed: true };
		case 'mismatch':
			throw new Problem('idempotency-mismatch', 'This `Idempotency-Key` has accepted another body. Use a fresh key for a new request.');
		case 'in-flight':
			throw new Problem(
				'idempotency-in-flight',
				'A request with the same `Idempotency-Key`, or with the same `dedupeKey` and recipients, is being accepted right now. Repeat this one.',
				{
					retryAfterSeconds: 1,
				},
			);
		case 'over-quota':
			throw overQuota(result, kind === 'batch');
	}
}

/** The stored result of a request's key, else throws the refusal. A request that was accepted once is answered so for ever, also when it would be refused today. */
export async function storedOr(refusal: Problem, pool: Db['pool'], key: IdempotencyKey | null): Promise<AcceptResult> {
	if (key === null) throw refusal;
	const { answers } = await findKeys(pool, [key], []);
	const [stored] = answers;
	if (stored === undefined) throw refusal;
	return stored.bodySha256.equals(key.bodySha256) ? { kind: 'replayed', ...stored.response } : { kind: 'mismatch' };
}
