import { type Capability, isUuid, monotonic, now, Problem } from '@tidings/model';
import type { FastifyRequest } from 'fastify';

/** Whose things a credential reaches. PLATFORM is the operator's own tenant. Only an ACTIVE one takes messages; the others can still be read. */
export type CallerTenant = {
	readonly id: string;
	readonly kind: 'TENANT' | 'PLATFORM';
	readonly status: 'ACTIVE' | 'SUSPENDED' | 'DELETING';
	readonly settings: TenantSettings;
};

/** What the operator has set for one tenant; null or absent: as for all. */
export type TenantSettings = {
	/** Requests a second of each of its callers. */
	readonly apiRatePerSecond?: number | null;
	/** How long a message without `validUntil` is tried, from its first due time, in hours. */
	readonly maxAgeHours?: number | null;
};

/** Who calls, for which tenant, and what they may do. */
export type Caller = {
	/** The tenant that the request is about: the credential's own, or the one that a platform credential named. */
	readonly tenant: CallerTenant;
	/** The tenant that the credential belongs to. */
	readonly home: CallerTenant;
	readonly capabilities: ReadonlySet<Capability>;
	/** As the audit shows it: `key:` and the key id. */
	readonly actor: string;
};

/** An API key as it is stored. */
export type Credential = {
	readonly keyId: string;
	readonly secretSha256: Uint8Array;
	readonly tenant: CallerTenant;
	readonly capabilities: readonly Capability[];
	readonly expiresAt: Date | null;
	readonly revokedAt: Date | null;
};

/** What authentication needs to know, handed in by whoever has a database and secrets. */
export type CredentialSource = {
	/** The key with this id, also a revoked one; null when there is none. */
	findCredential(keyId: string): Promise<Credential | null>;
	/** The tenant with this id; null when there is none. */
	findTenant(id: string): Promise<CallerTenant | null>;
	/** Splits a key into id and secret; null when it does not have the form of one. */
	parseKey(text: string): { readonly keyId: string; readonly secret: string } | null;
	/** Compares in constant time; also for a key that is not there (`null`), and then false. */
	matchesSecret(secret: string, stored: Uint8Array | null): boolean;
};

/** What was read may be this old: a revoked key stops within 30 s everywhere. */
const REMEMBER_MS = 15_000;
/** Remembered entries at most. */
const REMEMBER_MOST = 10_000;

/** Finds out who calls and whether they may. Answers at once when the key was looked up lately, else by a promise; throws or rejects with a `Problem` 401, 403 or 404. */
export type Authenticate = (request: FastifyRequest, capability: Capability) => Caller | Promise<Caller>;

/** Makes the check of `Authorization: Bearer <API key>` and `Tidings-Tenant`. No other header says anything about the tenant. */
export function createAuthenticate(source: CredentialSource): Authenticate {
	const credentials = createMemory((keyId: string) =>
		source.findCredential(keyId).then((row) => (row === null ? null : { row, caller: callerOf(row) })),
	);
	const tenants = createMemory(source.findTenant);

	const admit = (
		known: { row: Credential; caller: Caller } | null,
		secret: string,
		request: FastifyRequest,
		capability: Capability,
	): Caller | Promise<Caller> => {
		const matches = source.matchesSecret(secret, known?.row.secretSha256 ?? null);
		if (known === null || !matches) throw new Problem('credential-refused', 'The API key is not valid.');
		const { row, caller } = known;
		if (row.revokedAt !== null || (row.expiresAt !== null && row.expiresAt <= now()))
			throw new Problem('credential-refused', 'The API key was revoked or has expired.');
		if (!caller.capabilities.has(capability))
			throw new Problem('capability-missing', `This needs the capability \`${capability}\`, which the credential does not have.`);
		const named = request.headers['tidings-tenant'];
		return named === undefined ? caller : actFor(caller, String(named));
	};
	const actFor = async (caller: Caller, named: string): Promise<Caller> => {
		if (!caller.capabilities.has('platform')) {
			throw new Problem('capability-missing', '`Tidings-Tenant` needs the capability `platform`, which the credential does not have.');
		}
		const tenant = isUuid(named) ? await tenants(named.toLowerCase()) : null;
		if (tenant === null) throw new Problem('not-found', 'There is no tenant with the id that `Tidings-Tenant` names.');
		return { ...caller, tenant };
	};

	return (request, capability) => {
		const header = request.headers.authorization;
		if (header === undefined) throw new Problem('credential-missing', 'Send `Authorization: Bearer <API key>`.');
		const key = /^bearer /i.test(header) ? source.parseKey(header.slice(7).trim()) : null;
		if (key === null) throw new Problem('credential-refused', 'The `Authorization` header does not hold an API key (`Bearer tdg_…`).');
		const known = credentials(key.keyId);
		return known instanceof Promise
			? known.then((one) => admit(one, key.secret, request, capability))
			: admit(known, key.secret, request, capability);
	};
}

function callerOf(row: Credential): Caller {
	return { tenant: row.tenant, home: row.tenant, capabilities: new Set(row.capabilities), actor: `key:${row.keyId}` };
}

/** Remembers what was found for a while; what was not found is asked for again. Callers that ask at the same time share one look-up. */
function createMemory<T>(find: (id: string) => Promise<T | null>): (id: string) => T | Promise<T | null> {
	const known = new Map<string, { value: T; until: number }>();
	const asked = new Map<string, Promise<T | null>>();
	const ask = async (id: string): Promise<T | null> => {
		// Counted from before the look-up: what it saw may have changed since.
		const until = monotonic() + REMEMBER_MS;
		try {
			const value = await find(id);
			if (known.size >= REMEMBER_MOST) known.clear();
			if (value === null) known.delete(id);
			else known.set(id, { value, until });
			return value;
		} finally {
			asked.delete(id);
		}
	};
	return (id) => {
		const hit = known.get(id);
		if (hit !== undefined && hit.until > monotonic()) return hit.value;
		const running = asked.get(id) ?? ask(id);
		asked.set(id, running);
		return running;
	};
}
