import { type Static, type TObject, Type } from 'typebox';
import type { JwtOptions } from './http/verify-token.js';
import type { SettingsRule } from './parse-settings.js';

const SHARED = ['HS256', 'HS384', 'HS512'];
const PUBLIC = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const ALGORITHM = `(${[...SHARED, ...PUBLIC].join('|')})`;
const DEFAULT_PUBLIC = ['RS256', 'ES256', 'EdDSA', 'PS256'];
const DEFAULT_SHARED = ['HS256'];
const LEAST_SECRET_BYTES = 32;
const DEFAULT_CLAIM = 'tenant_id';

/** Which JWTs are taken besides API keys; without them, none. Read them with `jwtOptionsOf`. */
export const JWT_SETTINGS = {
	TIDINGS_JWT_ISSUER: Type.Optional(
		Type.String({ description: '`iss` of the JWTs that are taken. Without any TIDINGS_JWT_*: only API keys.' }),
	),
	TIDINGS_JWT_AUDIENCE: Type.Optional(Type.String({ description: '`aud` that a JWT must name.' })),
	TIDINGS_JWT_JWKS_URL: Type.Optional(
		Type.String({
			description: "The issuer's public keys (JWKS), fetched when they are needed. Either this or TIDINGS_JWT_SECRET.",
			pattern: '^https?://.+',
			form: 'https://issuer.example/jwks.json',
		}),
	),
	TIDINGS_JWT_SECRET: Type.Optional(
		Type.String({
			description: 'The secret that the issuer signs with: 32 bytes or more.',
			form: 'text of at least 32 bytes',
			secret: true,
		}),
	),
	TIDINGS_JWT_ALGORITHMS: Type.Optional(
		Type.String({
			description: `Ways to sign that are taken. Default: ${DEFAULT_PUBLIC.join(',')} with TIDINGS_JWT_JWKS_URL, ${DEFAULT_SHARED.join(',')} with TIDINGS_JWT_SECRET.`,
			pattern: `^${ALGORITHM}(\\s*,\\s*${ALGORITHM})*$`,
			form: `one or more of ${[...PUBLIC, ...SHARED].join(', ')}, separated by commas`,
		}),
	),
	TIDINGS_JWT_TENANT_CLAIM: Type.String({
		description: 'The claim that holds the id of the tenant.',
		default: DEFAULT_CLAIM,
		pattern: '^\\S{1,200}$',
		form: 'the name of a claim',
	}),
};

type JwtSettings = Static<TObject<typeof JWT_SETTINGS>>;

const ALL = [
	'TIDINGS_JWT_ISSUER',
	'TIDINGS_JWT_AUDIENCE',
	'TIDINGS_JWT_JWKS_URL',
	'TIDINGS_JWT_SECRET',
	'TIDINGS_JWT_ALGORITHMS',
	'TIDINGS_JWT_TENANT_CLAIM',
] as const;

/** Rules over `JWT_SETTINGS`: all that is needed or nothing, and no key that serves two ways of signing. */
export const JWT_RULES: readonly SettingsRule<JwtSettings>[] = [
	{ of: ['TIDINGS_JWT_ISSUER', ...ALL], fault: (settings) => missing(settings, 'TIDINGS_JWT_ISSUER', 'the `iss` of the tokens') },
	{ of: ['TIDINGS_JWT_AUDIENCE', ...ALL], fault: (settings) => missing(settings, 'TIDINGS_JWT_AUDIENCE', 'the `aud` that they must name') },
	{ of: ['TIDINGS_JWT_JWKS_URL', ...ALL], fault: faultOfKeys },
	{ of: ['TIDINGS_JWT_JWKS_URL'], fault: faultOfUrl },
	{ of: ['TIDINGS_JWT_SECRET'], fault: faultOfSecret },
	{ of: ['TIDINGS_JWT_ALGORITHMS', 'TIDINGS_JWT_JWKS_URL', 'TIDINGS_JWT_SECRET'], fault: faultOfAlgorithms },
];

/** Which tokens the settings allow; null: none, for there are no settings of them. */
export function jwtOptionsOf(settings: JwtSettings): JwtOptions | null {
	const { TIDINGS_JWT_ISSUER: issuer, TIDINGS_JWT_AUDIENCE: audience, TIDINGS_JWT_JWKS_URL: url, TIDINGS_JWT_SECRET: secret } = settings;
	if (issuer === undefined || audience === undefined) return null;
	const given = algorithmsIn(settings);
	const shared = { issuer, audience, tenantClaim: settings.TIDINGS_JWT_TENANT_CLAIM };
	if (url !== undefined) return { ...shared, algorithms: given ?? DEFAULT_PUBLIC, keys: { kind: 'jwks', url } };
	if (secret !== undefined) return { ...shared, algorithms: given ?? DEFAULT_SHARED, keys: { kind: 'secret', secret } };
	return null;
}

function algorithmsIn(settings: JwtSettings): readonly string[] | null {
	return settings.TIDINGS_JWT_ALGORITHMS?.split(',').map((one) => one.trim()) ?? null;
}

function isWanted(settings: JwtSettings): boolean {
	return ALL.some((name) => settings[name] !== undefined && !(name === 'TIDINGS_JWT_TENANT_CLAIM' && settings[name] === DEFAULT_CLAIM));
}

function missing(settings: JwtSettings, name: 'TIDINGS_JWT_ISSUER' | 'TIDINGS_JWT_AUDIENCE', what: string): string | null {
	return isWanted(settings) && settings[name] === undefined ? `is required when another TIDINGS_JWT_* is set: ${what}` : null;
}

function faultOfKeys(settings: JwtSettings): string | null {
	const { TIDINGS_JWT_JWKS_URL: url, TIDINGS_JWT_SECRET: secret } = settings;
	if (url !== undefined && secret !== undefined) return 'is set beside TIDINGS_JWT_SECRET; keep one';
	return url === undefined && secret === undefined && isWanted(settings)
		? 'is required when another TIDINGS_JWT_* is set; or set TIDINGS_JWT_SECRET'
		: null;
}

function faultOfUrl({ TIDINGS_JWT_JWKS_URL: url }: JwtSettings): string | null {
	if (url === undefined) return null;
	if (!URL.canParse(url)) return 'is no URL';
	const { username, password } = new URL(url);
	return username === '' && password === '' ? null : 'must not hold a user name or password';
}

function faultOfSecret({ TIDINGS_JWT_SECRET: secret }: JwtSettings): string | null {
	if (secret === undefined) return null;
	const bytes = Buffer.byteLength(secret);
	return bytes >= LEAST_SECRET_BYTES ? null : `must have at least ${LEAST_SECRET_BYTES} bytes, not ${bytes}`;
}

function faultOfAlgorithms(settings: JwtSettings): string | null {
	const given = algorithmsIn(settings) ?? [];
	if (settings.TIDINGS_JWT_SECRET !== undefined && given.some((one) => !SHARED.includes(one)))
		return `with TIDINGS_JWT_SECRET only ${SHARED.join(', ')} are possible`;
	if (settings.TIDINGS_JWT_JWKS_URL !== undefined && given.some((one) => SHARED.includes(one)))
		return `with TIDINGS_JWT_JWKS_URL none of ${SHARED.join(', ')} is possible: a public key is no secret`;
	return null;
}
