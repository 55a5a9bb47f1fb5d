import { type Capability, isUuid, now, Problem, type RetryTypes } from '@tidings/model';
import type { FastifyRequest } from 'fastify';
import { createMemory } from './remember.js';

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
	/** Retry policies by message type, `*` for every type. */
	readonly retryTypes?: RetryTypes | null;
};

/** Who calls, for which tenant, and what they may do. */
export type Caller = {
	/** The tenant that the request is about: the credential's own, or the one that a platform credential named. */
	readonly tenant: CallerTenant;
	/** The tenant that the credential belongs to. */
	readonly home: CallerTenant;
	readonly capabilities: ReadonlySet<Capability>;
	/** As the audit shows it: `key:` and the key id, or `user:` and the subject of a token; a user of the platform is `platform:user:`, for a tenant's own may have the same name. */
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
	/** Is told of each key that let a request in. Must be quick. */
	noteUse?(keyId: string): void;
	/** Takes what is to be called with the id of a key that has changed, so that this process forgets it at once. */
	onKeyChange?(forget: (keyId: string) => void): void;
	/** Takes what is to be called when a tenant has changed, so that this process forgets what it knows of tenants and their keys. */
	onTenantChange?(forget: () => void): void;
};

/** What a token says, once it is proven. */
export type TokenClaims = { readonly subject: string; readonly tenantId: string; readonly capabilities: readonly Capability[] };

/** Who may come in besides API keys, and how often each may come. */
export type AuthenticateOptions = {
	/** Proves a JWT; rejects with a `Problem` 401 or 503. Default: only API keys are taken. */
	readonly verifyToken?: (token: string) => Promise<TokenClaims>;
	/** Counts a request of this caller; null: it is not limited. Rejects with a `Problem` 429. Default: nobody is limited. */
	readonly throttle?: (caller: Caller) => Promise<void> | null;
};

/**
 * Finds out who calls and whether they may. Answers at once when the key was looked up lately, else by a promise; throws or rejects with a `Problem` 401, 403, 404,
 * 429 or 503.
 */
export type Authenticate = {
	(request: FastifyRequest, capability: Capability): Caller | Promise<Caller>;
	/** The same once more for a request that came in before, when its body has arrived at last: it is not counted twice. */
	again(request: FastifyRequest, capability: Capability): Caller | Promise<Caller>;
};

/** Three parts of base64url: whatever has this form is judged as a token. */
const TOKEN = /^[\w-]+\.[\w-]*\.[\w-]*$/;

/** Makes the check of `Authorization: Bearer <API key or JWT>` and `Tidings-Tenant`. No other header says anything about the tenant. */
export function createAuthenticate(source: CredentialSource, options: AuthenticateOptions = {}): Authenticate {
	const { verifyToken, throttle } = options;
	const credentials = createMemory((keyId: string) =>
		source.findCredential(keyId).then((row) => (row === null ? null : { row, caller: callerOf(row) })),
	);
	source.onKeyChange?.(credentials.forget);
	const tenants = createMemory(source.findTenant);
	source.onTenantChange?.(() => {
		credentials.forgetAll();
		tenants.forgetAll();
	});

	const admitKey = (known: { row: Credential; caller: Caller } | null, secret: string): Caller => {
		const matches = source.matchesSecret(secret, known?.row.secretSha256 ?? null);
		if (known === null || !matches) throw new Problem('credential-refused', 'The API key is not valid.');
		const { row, caller } = known;
		if (row.revokedAt !== null || (row.expiresAt !== null && row.expiresAt <= now()))
			throw new Problem('credential-refused', 'The API key was revoked or has expired.');
		source.noteUse?.(row.keyId);
		return caller;
	};
	const admitToken = async ({ subject, tenantId, capabilities }: TokenClaims): Promise<Caller> => {
		const tenant = await tenants.get(tenantId);
		if (tenant === null) throw new Problem('credential-refused', 'There is no tenant with the id that the token names.');
		// Whoever signs for a tenant does not sign for the operator.
		const held = capabilities.filter((one) => one !== 'platform' || tenant.kind === 'PLATFORM');
		return { tenant, home: tenant, capabilities: new Set(held), actor: `${tenant.kind === 'PLATFORM' ? 'platform:' : ''}user:${subject}` };
	};
	const identify = (header: string): Caller | Promise<Caller> => {
		const text = /^bearer /i.test(header) ? header.slice(7).trim() : '';
		const key = source.parseKey(text);
		if (key !== null) return after(credentials.get(key.keyId), (known) => admitKey(known, key.secret));
		if (verifyToken !== undefined && TOKEN.test(text)) return verifyToken(text).then(admitToken);
		const wanted = verifyToken === undefined ? 'an API key (`Bearer tdg_…`)' : 'an API key (`Bearer tdg_…`) or a JWT';
		const twice = /^bearer\s/i.test(text) ? ' The word `Bearer` stands in it twice.' : '';
		throw new Problem('credential-refused', `The \`Authorization\` header does not hold ${wanted}.${twice}`);
	};
	const permit = (caller: Caller, request: FastifyRequest, capability: Capability): Caller | Promise<Caller> => {
		if (!caller.capabilities.has(capability))
			throw new Problem('capability-missing', `This needs the capability \`${capability}\`, which the credential does not have.`);
		const named = request.headers['tidings-tenant'];
		return named === undefined ? caller : actFor(caller, String(named));
	};
	const actFor = async (caller: Caller, named: string): Promise<Caller> => {
		if (!caller.capabilities.has('platform')) {
			throw new Problem('capability-missing', '`Tidings-Tenant` needs the capability `platform`, which the credential does not have.');
		}
		const tenant = isUuid(named) ? await tenants.get(named.toLowerCase()) : null;
		if (tenant === null) throw new Problem('not-found', 'There is no tenant with the id that `Tidings-Tenant` names.');
		return { ...caller, tenant };
	};

	const check = (count: AuthenticateOptions['throttle']) => (request: FastifyRequest, capability: Capability) => {
		const header = request.headers.authorization;
		if (header === undefined) throw new Problem('credential-missing', 'Send `Authorization: Bearer <API key>`.');
		return after(identify(header), (caller) => {
			const counted = count?.(caller) ?? null;
			return counted === null ? permit(caller, request, capability) : counted.then(() => permit(caller, request, capability));
		});
	};
	return Object.assign(check(throttle), { again: check(undefined) });
}

function callerOf(row: Credential): Caller {
	return { tenant: row.tenant, home: row.tenant, capabilities: new Set(row.capabilities), actor: `key:${row.keyId}` };
}

/** Goes on at once where nothing has to be awaited: most requests know their caller. */
function after<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
	return value instanceof Promise ? value.then(next) : next(value);
}
