import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A header and claims that are signed as they stand; `undefined` leaves one out. */
export type TokenParts = { readonly header?: Record<string, unknown>; readonly claims?: Record<string, unknown> };

/** How the issuer answers who asks for its keys. */
export type IssuerMood = 'well' | 'rubbish' | 'error' | 'gone';

/** Somebody who signs tokens, and shows the public keys over HTTP. */
export type TokenIssuer = {
	readonly issuer: string;
	readonly audience: string;
	/** Where the keys are. */
	readonly jwksUrl: string;
	/** How often the keys were asked for. */
	fetches(): number;
	/** A token that is good for an hour, but for what is changed. */
	token(parts?: TokenParts): string;
	/** Signs with a new key from now on; only that one is shown. */
	rotate(kind?: KeyKind): void;
	behave(mood: IssuerMood): void;
	stop(): Promise<void>;
};

/** What keys can be, by the `alg` that they sign with. */
export type KeyKind = 'RS256' | 'ES256' | 'EdDSA';
type SigningKey = { readonly kid: string; readonly alg: KeyKind; readonly secret: KeyObject; readonly shown: object };

const ISSUER = 'https://issuer.example';
const AUDIENCE = 'tidings';

/** Starts an issuer. `claims`: what each of its tokens says. Its signing is its own, so that it is a second opinion. */
export async function startIssuer(claims: Record<string, unknown>): Promise<TokenIssuer> {
	let key = newKey('RS256', 1);
	let made = 1;
	let fetches = 0;
	let mood: IssuerMood = 'well';
	const server = createServer((request, response) => {
		fetches += 1;
		if (mood === 'gone') return void request.socket.destroy();
		response.statusCode = mood === 'error' ? 500 : 200;
		response.end(mood === 'rubbish' ? '<html>' : JSON.stringify({ keys: [key.shown] }));
	});
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	const { port } = server.address() as AddressInfo;
	return {
		issuer: ISSUER,
		audience: AUDIENCE,
		jwksUrl: `http://127.0.0.1:${port}/jwks.json`,
		fetches: () => fetches,
		token: (parts = {}) => {
			const text = unsigned({ alg: key.alg, kid: key.kid, ...parts.header }, { ...common(), ...claims, ...parts.claims });
			return `${text}.${signatureOf(text, key)}`;
		},
		rotate: (kind = 'RS256') => {
			made += 1;
			key = newKey(kind, made);
		},
		behave: (next) => {
			mood = next;
		},
		stop: async () => {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

/** A token signed with a shared secret (HS256), or by whatever `header` claims. */
export function sharedToken(secret: string | KeyObject, claims: Record<string, unknown>, header: Record<string, unknown> = {}): string {
	const text = unsigned({ alg: 'HS256', ...header }, { ...common(), ...claims });
	return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}

/** A token that nobody has signed. */
export function bareToken(claims: Record<string, unknown>): string {
	return `${unsigned({ alg: 'none' }, { ...common(), ...claims })}.`;
}

function common(): Record<string, unknown> {
	const now = Math.floor(Date.now() / 1_000);
	return { iss: ISSUER, aud: AUDIENCE, iat: now, exp: now + 3_600 };
}

function unsigned(header: object, claims: object): string {
	return [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
}

function newKey(alg: KeyKind, count: number): SigningKey {
	const kid = `key-${count}`;
	const { privateKey, publicKey } = makePair(alg);
	return { kid, alg, secret: privateKey, shown: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } };
}

function makePair(alg: KeyKind): { privateKey: KeyObject; publicKey: KeyObject } {
	if (alg === 'RS256') return generateKeyPairSync('rsa', { modulusLength: 2_048 });
	if (alg === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' });
	return generateKeyPairSync('ed25519');
}

function signatureOf(text: string, { alg, secret }: SigningKey): string {
	const data = Buffer.from(text);
	if (alg === 'RS256') return sign('sha256', data, secret).toString('base64url');
	if (alg === 'ES256') return sign('sha256', data, { key: secret, dsaEncoding: 'ieee-p1363' }).toString('base64url');
	return sign(null, data, secret).toString('base64url');
}
