import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Type } from 'typebox';
import { JWT_RULES, JWT_SETTINGS, jwtOptionsOf } from './jwt-settings.js';
import { parseSettings } from './parse-settings.js';

const schema = Type.Object(JWT_SETTINGS);
const ISSUER = { TIDINGS_JWT_ISSUER: 'https://issuer.example', TIDINGS_JWT_AUDIENCE: 'tidings' };
const URL_OF_KEYS = { TIDINGS_JWT_JWKS_URL: 'https://issuer.example/jwks' };
const SECRET = { TIDINGS_JWT_SECRET: 's'.repeat(32) };

function optionsOf(env: Record<string, string>) {
	const parsed = parseSettings(schema, env, JWT_RULES);
	if (parsed.kind === 'faults') throw new Error(parsed.faults.join('\n'));
	return jwtOptionsOf(parsed.settings);
}

function faultsOf(env: Record<string, string>): string[] {
	const parsed = parseSettings(schema, env, JWT_RULES);
	return parsed.kind === 'faults' ? parsed.faults.map((fault) => fault.split(':')[0] ?? '').sort() : [];
}

test('without any of them no token is taken', () => {
	expect(optionsOf({})).toBeNull();
});

test('a JWKS takes the usual public algorithms, a secret HS256, unless they are named', () => {
	expect(optionsOf({ ...ISSUER, ...URL_OF_KEYS })).toEqual({
		issuer: 'https://issuer.example',
		audience: 'tidings',
		tenantClaim: 'tenant_id',
		algorithms: ['RS256', 'ES256', 'EdDSA', 'PS256'],
		keys: { kind: 'jwks', url: 'https://issuer.example/jwks' },
	});
	expect(optionsOf({ ...ISSUER, ...SECRET })?.algorithms).toEqual(['HS256']);
	expect(optionsOf({ ...ISSUER, ...URL_OF_KEYS, TIDINGS_JWT_ALGORITHMS: 'ES384, ES256' })?.algorithms).toEqual(['ES384', 'ES256']);
	expect(optionsOf({ ...ISSUER, ...SECRET, TIDINGS_JWT_TENANT_CLAIM: 'https://x.example/tenant' })?.tenantClaim).toBe(
		'https://x.example/tenant',
	);
});

test('each may be given as a file', () => {
	const file = join(mkdtempSync(join(tmpdir(), 'tidings-jwt-')), 'secret');
	writeFileSync(file, `${SECRET.TIDINGS_JWT_SECRET}\n`);
	expect(optionsOf({ ...ISSUER, TIDINGS_JWT_SECRET_FILE: file })?.keys).toEqual({ kind: 'secret', secret: SECRET.TIDINGS_JWT_SECRET });
});

test.each<[string, Record<string, string>, string[]]>([
	['an issuer alone', { TIDINGS_JWT_ISSUER: 'x' }, ['TIDINGS_JWT_AUDIENCE', 'TIDINGS_JWT_JWKS_URL']],
	['keys alone', URL_OF_KEYS, ['TIDINGS_JWT_AUDIENCE', 'TIDINGS_JWT_ISSUER']],
	[
		'another tenant claim alone',
		{ TIDINGS_JWT_TENANT_CLAIM: 'org' },
		['TIDINGS_JWT_AUDIENCE', 'TIDINGS_JWT_ISSUER', 'TIDINGS_JWT_JWKS_URL'],
	],
	['both kinds of keys', { ...ISSUER, ...URL_OF_KEYS, ...SECRET }, ['TIDINGS_JWT_JWKS_URL']],
	['a short secret', { ...ISSUER, TIDINGS_JWT_SECRET: 's'.repeat(31) }, ['TIDINGS_JWT_SECRET']],
	['a public algorithm for a secret', { ...ISSUER, ...SECRET, TIDINGS_JWT_ALGORITHMS: 'HS256,RS256' }, ['TIDINGS_JWT_ALGORITHMS']],
	['a shared algorithm for a JWKS', { ...ISSUER, ...URL_OF_KEYS, TIDINGS_JWT_ALGORITHMS: 'RS256,HS256' }, ['TIDINGS_JWT_ALGORITHMS']],
	['the algorithm none', { ...ISSUER, ...URL_OF_KEYS, TIDINGS_JWT_ALGORITHMS: 'none' }, ['TIDINGS_JWT_ALGORITHMS']],
	['a URL with a password', { ...ISSUER, TIDINGS_JWT_JWKS_URL: 'https://a:b@issuer.example/' }, ['TIDINGS_JWT_JWKS_URL']],
	['what is no URL', { ...ISSUER, TIDINGS_JWT_JWKS_URL: 'https://[/' }, ['TIDINGS_JWT_JWKS_URL']],
])('%s is a fault that names its setting', (_what, env, names) => {
	expect(faultsOf(env)).toEqual(names);
});
