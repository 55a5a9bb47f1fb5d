import { CAPABILITIES, type Capability, newId } from '@tidings/model';
import type { TestApi } from '../harness/api.js';
import { makeServer, type Owner } from '../harness/recipes.js';
import { bareToken, type TokenIssuer } from '../harness/token-issuer.js';
import type { Row, Standing } from './rules.js';

/** Whose things a caller names, and where its own go. */
type Tenants = {
	/** Whose things are named by all but the halted. */
	readonly first: Owner;
	readonly other: Owner;
	/** Is suspended, or is being deleted, only while a call is made. */
	readonly halted: Owner;
	readonly platform: Owner;
};

/** Somebody who calls an operation. */
export type Caller = {
	readonly standing: Standing;
	/** Where what it makes goes; null: it makes nothing. */
	readonly home: keyof Tenants | null;
	/** What it shows to an operation. */
	show(row: Row): Promise<Record<string, string>>;
	/** The act by which the operator halts its tenant before the call. */
	readonly halt?: 'suspend' | 'delete';
};

/** Everybody who calls, by name. */
export type Callers = Readonly<Record<string, Caller>>;

const OWN = CAPABILITIES.filter((one) => one !== 'platform');
const PAST = -7_200;

/** Makes the tenants, each with a mail server. */
export async function makeTenants(api: TestApi): Promise<Tenants> {
	const make = async (name: string): Promise<Owner> => {
		const { body } = await api.call('/v1/tenants', { key: api.platformKey, body: { name } });
		const headers = { 'tidings-tenant': body.id };
		const { key } = (await api.call('/v1/api-keys', { key: api.platformKey, headers, body: { name: 'all', capabilities: OWN } })).body;
		return { tenantId: body.id, apiKey: key };
	};
	const { rows } = await api.db.pool.query<{ id: string }>(`select id from tenant where kind = 'PLATFORM'`);
	const tenants = {
		first: { tenantId: api.tenantId, apiKey: api.apiKey },
		other: await make('Other'),
		halted: await make('Halted'),
		platform: { tenantId: rows[0]?.id ?? '', apiKey: api.platformKey },
	};
	for (const owner of Object.values(tenants)) await makeServer(api, owner);
	return tenants;
}

/** Makes all callers. `issuer` signs the tokens that `api` takes. */
export async function makeCallers(api: TestApi, issuer: TokenIssuer, tenants: Tenants): Promise<Callers> {
	const { first, other, halted, platform } = tenants;
	const key = createKeys(api);
	const now = Math.floor(Date.now() / 1_000);
	/** Whose token may do what a row needs: `platform` counts only in the platform's own. */
	const claims = ({ needs }: Row, change: Record<string, unknown> = {}): Record<string, unknown> => ({
		sub: 'ann',
		tenant_id: needs === 'platform' ? platform.tenantId : first.tenantId,
		scope: needs ?? '',
		...change,
	});
	const token = (standing: Standing, home: Caller['home'], make: (row: Row) => string): Caller => ({
		standing,
		home,
		show: async (row) => bearer(make(row)),
	});
	const stranger = (text: string): Caller => ({ standing: 'stranger', home: null, show: async () => ({ authorization: text }) });
	const expired = await key(first, OWN, 'expired');
	await api.db.pool.query(`update api_key set expires_at = now() - interval '1 hour' where key_id = $1`, [expired.split('_')[1]]);
	const revoked = await key(first, OWN, 'revoked');
	const { id } = await api.db.prisma.apiKey.findFirstOrThrow({ where: { keyId: revoked.split('_')[1] ?? '' } });
	await api.call(`/v1/api-keys/${id}:revoke`, { method: 'POST' });
	return {
		nobody: { standing: 'nobody', home: null, show: async () => ({}) },
		'another scheme': stranger(`Basic ${Buffer.from('a:b').toString('base64')}`),
		'an empty bearer': stranger('Bearer'),
		'a word': stranger('Bearer tdg_'),
		'the key without its scheme': stranger(first.apiKey),
		'an unknown key': stranger(`Bearer tdg_0000000000000000_${first.apiKey.split('_').slice(2).join('_')}`),
		'a wrong secret': stranger(`Bearer ${first.apiKey.split('_').slice(0, 2).join('_')}_${'A'.repeat(43)}`),
		'the expired key': stranger(`Bearer ${expired}`),
		'the revoked key': stranger(`Bearer ${revoked}`),
		'the bare key': {
			standing: 'owner',
			home: 'first',
			show: async ({ needs }) => bearer(await key(needs === 'platform' ? platform : first, needs === null ? OWN : [needs])),
		},
		'the lacking key': {
			standing: 'lacking',
			home: null,
			show: async ({ needs }) =>
				bearer(
					await key(
						needs === 'platform' ? platform : first,
						(needs === 'platform' ? CAPABILITIES : OWN).filter((one) => one !== needs),
					),
				),
		},
		'another tenant': { standing: 'other', home: 'other', show: async () => bearer(other.apiKey) },
		'the platform': { standing: 'operator', home: 'platform', show: async () => bearer(platform.apiKey) },
		'the platform for the tenant': {
			standing: 'operator for the owner',
			home: 'first',
			show: async () => naming(platform, first.tenantId),
		},
		'the platform for nobody': { standing: 'operator for nobody', home: null, show: async () => naming(platform, newId()) },
		'the platform for a word': { standing: 'operator for nobody', home: null, show: async () => naming(platform, "'; --") },
		'the tenant that names itself': {
			standing: 'owner who names a tenant',
			home: null,
			show: async () => naming(first, first.tenantId),
		},
		'another tenant that names the first': {
			standing: 'owner who names a tenant',
			home: null,
			show: async () => naming(other, first.tenantId),
		},
		'the suspended tenant': { standing: 'halted owner', home: 'halted', halt: 'suspend', show: async () => bearer(halted.apiKey) },
		'the tenant that is being deleted': {
			standing: 'halted owner',
			home: 'halted',
			halt: 'delete',
			show: async () => bearer(halted.apiKey),
		},
		'the good token': token('owner', 'first', (row) => issuer.token({ claims: claims(row) })),
		'the token of another tenant': token('other', 'other', (row) =>
			issuer.token({ claims: claims(row, { tenant_id: other.tenantId, scope: CAPABILITIES.join(' ') }) }),
		),
		'the lacking token': token('lacking', null, (row) =>
			issuer.token({ claims: claims(row, { scope: CAPABILITIES.filter((one) => one !== row.needs).join(' ') }) }),
		),
		'the expired token': token('stranger', null, (row) => issuer.token({ claims: claims(row, { exp: now + PAST }) })),
		'the unsigned token': token('stranger', null, (row) => bareToken(claims(row))),
		'the token for another audience': token('stranger', null, (row) => issuer.token({ claims: claims(row, { aud: 'elsewhere' }) })),
		'the token of another issuer': token('stranger', null, (row) =>
			issuer.token({ claims: claims(row, { iss: 'https://elsewhere.example' }) }),
		),
		'the token of no tenant': token('stranger', null, (row) => issuer.token({ claims: claims(row, { tenant_id: newId() }) })),
		'the token that was changed': token('stranger', null, (row) =>
			changed(issuer.token({ claims: claims(row, { scope: '' }) }), claims(row)),
		),
	};
}

function bearer(text: string): Record<string, string> {
	return { authorization: `Bearer ${text}` };
}

function naming({ apiKey }: Owner, tenantId: string): Record<string, string> {
	return { ...bearer(apiKey), 'tidings-tenant': tenantId };
}

/** The signature of one token under the claims of another. */
function changed(token: string, claims: object): string {
	const [header = '', body = '', signature = ''] = token.split('.');
	const held = JSON.parse(Buffer.from(body, 'base64url').toString());
	return [header, Buffer.from(JSON.stringify({ ...held, ...claims })).toString('base64url'), signature].join('.');
}

/** Makes keys of tenants, one for each set of capabilities and name. */
function createKeys(api: TestApi): (owner: Owner, capabilities: readonly Capability[], name?: string) => Promise<string> {
	const made = new Map<string, string>();
	return async (owner, capabilities, name = 'walker') => {
		const place = [owner.tenantId, name, ...capabilities].join(' ');
		const known = made.get(place);
		if (known !== undefined) return known;
		const { key } = (await api.call('/v1/api-keys', { key: owner.apiKey, body: { name, capabilities } })).body;
		made.set(place, key);
		return key;
	};
}
