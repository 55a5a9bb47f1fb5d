import { createPublicKey } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { newId, Problem } from '@tidings/model';
import { eventually } from '../../../../test/harness/eventually.js';
import { bareToken, sharedToken, startIssuer, type TokenIssuer } from '../../../../test/harness/token-issuer.js';
import { createVerifyToken, type JwtOptions } from './verify-token.js';

const SECRET = 'a secret that is shared, of 32 bytes or more';
const tenantId = newId();
const claims = { sub: 'ann', tenant_id: tenantId, scope: 'messages:send  unknown:word messages:read' };
let issuer: TokenIssuer;
beforeAll(async () => {
	issuer = await startIssuer(claims);
});
afterEach(() => issuer.behave('well'));
afterAll(async () => await issuer.stop());

const shared = { issuer: 'https://issuer.example', audience: 'tidings', tenantClaim: 'tenant_id' };
const byKeys = (more: { algorithms?: string[]; cooldownMs?: number } = {}): ReturnType<typeof createVerifyToken> =>
	createVerifyToken({
		...shared,
		algorithms: more.algorithms ?? ['RS256', 'ES256', 'EdDSA'],
		keys: { kind: 'jwks', url: issuer.jwksUrl, cooldownMs: more.cooldownMs ?? 10_000 },
	});
const bySecret = (more: Partial<JwtOptions> = {}): ReturnType<typeof createVerifyToken> =>
	createVerifyToken({ ...shared, algorithms: ['HS256'], keys: { kind: 'secret', secret: SECRET }, ...more });

async function problemOf(promise: Promise<unknown>): Promise<Problem> {
	const error = await promise.then(
		() => new Error('it was taken'),
		(reason: unknown) => reason,
	);
	if (error instanceof Problem) return error;
	throw error;
}

test('a token tells who it is for, and words that are no capabilities are passed over', async () => {
	const wanted = { subject: 'ann', tenantId, capabilities: ['messages:send', 'messages:read'] };
	expect(await byKeys()(issuer.token())).toEqual(wanted);
	expect(await bySecret()(sharedToken(SECRET, claims))).toEqual(wanted);
	expect(await bySecret()(sharedToken(SECRET, { ...claims, aud: ['other', 'tidings'], scope: undefined }))).toMatchObject({
		capabilities: [],
	});
	expect(await bySecret({ tenantClaim: 'org' })(sharedToken(SECRET, { ...claims, tenant_id: 1, org: tenantId.toUpperCase() }))).toEqual(
		wanted,
	);
});

const seconds = (offset: number): number => Math.floor(Date.now() / 1_000) + offset;
test.each<[string, Record<string, unknown>, RegExp]>([
	['is expired', { exp: seconds(-60) }, /expired/],
	['never expires', { exp: undefined }, /no `exp`/],
	['is not valid yet', { nbf: seconds(600) }, /not valid yet/],
	['was issued in the future', { iat: seconds(600) }, /issued in the future/],
	['comes from another issuer', { iss: 'https://other.example' }, /another issuer/],
	['is for another audience', { aud: 'other' }, /another audience/],
	['names no audience', { aud: undefined }, /no `aud`/],
	['names no subject', { sub: undefined }, /no `sub`/],
	['names a subject of 201 characters', { sub: 's'.repeat(201) }, /`sub`/],
	['names a subject with a line break', { sub: 'a\nb' }, /`sub`/],
	['names no tenant', { tenant_id: undefined }, /no `tenant_id`/],
	['names a tenant that is no id', { tenant_id: 'shop' }, /`tenant_id`/],
	['has a list as its scope', { scope: ['messages:read'] }, /`scope`/],
])('a token that %s is refused and told why', async (_what, change, why) => {
	const refusal = await problemOf(bySecret()(sharedToken(SECRET, { ...claims, ...change })));
	expect([refusal.code, refusal.message, refusal.cause]).toEqual(['credential-refused', expect.stringMatching(why), undefined]);
});

test('clocks may differ by a few seconds', async () => {
	const almost = { ...claims, exp: seconds(-1), nbf: seconds(3), iat: seconds(3) };
	expect(await bySecret()(sharedToken(SECRET, almost))).toMatchObject({ subject: 'ann' });
});

test('what nobody signed, what another signed, and what was changed is refused', async () => {
	const good = issuer.token();
	const [header = '', body = '', signature = ''] = good.split('.');
	const evil = Buffer.from(JSON.stringify({ ...claims, iss: shared.issuer, aud: 'tidings', exp: seconds(60) })).toString('base64url');
	const verify = byKeys();
	for (const token of [bareToken(claims), `${header}.${evil}.${signature}`, `${header}.${body}.`, `${header}.${body}.AAAA`, 'a.b.c', '..'])
		expect((await problemOf(verify(token))).code).toBe('credential-refused');
	expect((await problemOf(verify(bareToken(claims)))).message).toContain('`alg`');
	expect((await problemOf(verify(`${header}.${evil}.${signature}`))).message).toContain('signature');
	expect((await problemOf(bySecret()(sharedToken('another secret, also of 32 bytes or more', claims)))).message).toContain('signature');
});

test('a public key is never taken for a shared secret', async () => {
	const { keys } = (await (await fetch(issuer.jwksUrl)).json()) as { keys: { kid: string }[] };
	const pem = createPublicKey({ key: keys[0] ?? {}, format: 'jwk' }).export({ format: 'pem', type: 'spki' });
	const forged = sharedToken(String(pem), claims, { kid: keys[0]?.kid });
	expect((await problemOf(byKeys()(forged))).message).toContain('`alg`');
});

test('the keys are fetched once, and again for a key that is new', async () => {
	const verify = byKeys({ cooldownMs: 0 });
	const before = issuer.fetches();
	await Promise.all([verify(issuer.token()), verify(issuer.token())]);
	await verify(issuer.token());
	expect(issuer.fetches()).toBe(before + 1);
	for (const kind of ['ES256', 'EdDSA', 'RS256'] as const) {
		const old = issuer.token();
		issuer.rotate(kind);
		expect(await verify(issuer.token())).toMatchObject({ subject: 'ann' });
		expect((await problemOf(verify(old))).message).toContain('`kid`');
	}
});

test('many unknown keys do not hammer the issuer', async () => {
	const verify = byKeys();
	await verify(issuer.token());
	const before = issuer.fetches();
	for (let n = 0; n < 50; n++)
		expect((await problemOf(verify(issuer.token({ header: { kid: `unknown-${n}` } })))).code).toBe('credential-refused');
	expect(issuer.fetches()).toBe(before);
});

test.each(['gone', 'error', 'rubbish'] as const)(
	'while the issuer answers as one that is %s, nobody is let in or refused for good',
	async (mood) => {
		const token = issuer.token();
		const known = byKeys({ cooldownMs: 0 });
		await known(token);
		issuer.behave(mood);
		const fresh = byKeys();
		const before = issuer.fetches();
		for (let n = 0; n < 20; n++) {
			const { code, retryAfterSeconds } = await problemOf(fresh(token));
			expect([code, retryAfterSeconds]).toEqual(['dependency-away', 2]);
		}
		// One that fails is not asked again and again (a connection that is cut may be tried twice).
		expect(issuer.fetches() - before).toBeLessThanOrEqual(2);
		expect((await problemOf(known(issuer.token({ header: { kid: 'new' } })))).code).toBe('dependency-away');
		expect(await known(token)).toMatchObject({ subject: 'ann' });
		issuer.behave('well');
		expect(await eventually(() => fresh(token).catch(() => false))).toMatchObject({ subject: 'ann' });
	},
);
