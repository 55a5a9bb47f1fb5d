import { CAPABILITIES, isUuid, monotonic, now, Problem } from '@tidings/model';
import { createRemoteJWKSet, customFetch, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { TokenClaims } from './authenticate.js';

/** Which tokens are taken. */
export type JwtOptions = {
	readonly issuer: string;
	readonly audience: string;
	readonly algorithms: readonly string[];
	/** The claim that holds the tenant's id. */
	readonly tenantClaim: string;
	/** Where the keys come from. `cooldownMs`: after a fetch an unknown key id causes no other for so long; default 10,000. */
	readonly keys:
		| { readonly kind: 'jwks'; readonly url: string; readonly cooldownMs?: number }
		| { readonly kind: 'secret'; readonly secret: string };
};

/** Clocks of two machines differ. */
const TOLERANCE_SECONDS = 5;
const COOLDOWN_MS = 10_000;
/** Keys are fetched again after this, so that one that the issuer withdraws ends. */
const KEEP_MS = 600_000;
const FETCH_MS = 5_000;
/** After a fetch that failed nobody tries for so long. */
const PAUSE_MS = 1_000;
const RETRY_SECONDS = 2;
/** 1 to 200 characters that can be seen. */
const SUBJECT = /^[\p{L}\p{M}\p{N}\p{P}\p{S}]{1,200}$/u;

/**
 * Makes the check of JWTs (RFC 7519): signature, issuer, audience, times. It rejects with a `Problem` 401 that says what is wrong with the token, and 503 when
 * the issuer's keys cannot be fetched; keys that were fetched lately go on meanwhile.
 */
export function createVerifyToken(options: JwtOptions): (token: string) => Promise<TokenClaims> {
	const key = options.keys.kind === 'secret' ? secretKey(options.keys.secret) : issuerKeys(options.keys);
	return async (token) => {
		const at = now();
		try {
			const { payload } = await jwtVerify(token, key, {
				issuer: options.issuer,
				audience: options.audience,
				algorithms: [...options.algorithms],
				requiredClaims: ['exp', 'sub', options.tenantClaim],
				clockTolerance: TOLERANCE_SECONDS,
				currentDate: at,
			});
			return readClaims(payload, options.tenantClaim, at);
		} catch (error) {
			// The library's errors hold the claims: none goes further than here.
			throw error instanceof Problem ? error : refused(faultOf(error));
		}
	};
}

function secretKey(secret: string): JWTVerifyGetKey {
	const bytes = new TextEncoder().encode(secret);
	return async () => bytes;
}

function issuerKeys({ url, cooldownMs = COOLDOWN_MS }: { url: string; cooldownMs?: number }): JWTVerifyGetKey {
	let pausedUntil = 0;
	const find = createRemoteJWKSet(new URL(url), {
		cooldownDuration: cooldownMs,
		cacheMaxAge: KEEP_MS,
		timeoutDuration: FETCH_MS,
		[customFetch]: async (...given) => {
			if (monotonic() < pausedUntil) throw new Error('the keys of the token issuer could not be fetched a moment ago');
			return await fetch(...given);
		},
	});
	return async (header, token) => {
		try {
			return await find(header, token);
		} catch (error) {
			if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) throw error;
			if (monotonic() >= pausedUntil) pausedUntil = monotonic() + PAUSE_MS;
			throw new Problem('dependency-away', 'The keys of the token issuer cannot be fetched. Repeat the request, or use an API key.', {
				cause: error,
				retryAfterSeconds: RETRY_SECONDS,
			});
		}
	};
}

function readClaims(payload: JWTPayload, tenantClaim: string, at: Date): TokenClaims {
	const { sub, iat, scope = '' } = payload;
	if (iat !== undefined && iat > at.getTime() / 1_000 + TOLERANCE_SECONDS) throw refused('The token was issued in the future (`iat`).');
	if (typeof sub !== 'string' || !SUBJECT.test(sub)) throw refused('`sub` of the token must have 1 to 200 visible characters.');
	const tenantId = payload[tenantClaim];
	if (typeof tenantId !== 'string' || !isUuid(tenantId)) throw refused(`\`${tenantClaim}\` of the token must be the id of a tenant.`);
	if (typeof scope !== 'string') throw refused('`scope` of the token must be one text: capabilities, separated by spaces.');
	const words = new Set(scope.split(' '));
	return { subject: sub, tenantId: tenantId.toLowerCase(), capabilities: CAPABILITIES.filter((one) => words.has(one)) };
}

function refused(detail: string): Problem {
	return new Problem('credential-refused', detail);
}

/** What is wrong with a token, in words that hold nothing of it. */
function faultOf(error: unknown): string {
	if (error instanceof errors.JWTExpired) return 'The token has expired (`exp`).';
	if (error instanceof errors.JWTClaimValidationFailed) return claimFault(error);
	if (error instanceof errors.JOSEAlgNotAllowed) return 'The token is signed in a way that is not allowed here (`alg`).';
	if (error instanceof errors.JWKSNoMatchingKey) return 'The token is signed by a key that its issuer does not publish (`kid`).';
	if (error instanceof errors.JWKSMultipleMatchingKeys) return 'The token does not say which key of its issuer signed it (`kid`).';
	if (error instanceof errors.JWSSignatureVerificationFailed) return 'The signature of the token is not right.';
	return 'The token cannot be read: it is not a signed JWT (RFC 7519).';
}

function claimFault({ claim, reason }: errors.JWTClaimValidationFailed): string {
	if (reason === 'missing') return `The token has no \`${claim}\`.`;
	if (claim === 'iss') return 'The token comes from another issuer (`iss`).';
	if (claim === 'aud') return 'The token is meant for another audience (`aud`).';
	if (claim === 'nbf' && reason === 'check_failed') return 'The token is not valid yet (`nbf`).';
	return `\`${claim}\` of the token is not right.`;
}
