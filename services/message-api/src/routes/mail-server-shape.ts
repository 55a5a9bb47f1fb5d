import type { Keyring } from '@tidings/crypto';
import { type Db, findGates } from '@tidings/db';
import type { Caller } from '@tidings/runtime';
import type { Metrics } from '@tidings/telemetry';
import type { Acceptor } from '../accept-messages.js';
import type { StoredServer } from '../servers/create-server.js';
import { OPEN_GATE, showGate } from '../servers/gate-shape.js';
import type { KnownServers } from '../servers/known-servers.js';
import type { ReadWindows } from '../servers/read-server-state.js';
import type { ShownServer } from '../servers/server-schema.js';

/** What the operations on mail servers need. */
export type ServersContext = {
	readonly db: Db;
	readonly keyring: Keyring;
	readonly allowPrivateHosts: boolean;
	readonly servers: KnownServers;
	readonly acceptor: Acceptor;
	readonly metrics: Metrics;
	/** Where the rate windows can be read; absent: nowhere. */
	readonly windows?: ReadWindows;
};

/** What all operations on mail servers have in common. */
export const shared = { tag: 'Mail servers', access: 'providers:write' } as const;

/** What the header says. */
export const LOCATION = 'The mail server: `/v1/mail-servers/{id}`.';

/** A mail server to copy. */
export const NEW_EXAMPLE = {
	name: 'main',
	host: 'smtp.example.com',
	port: 587,
	security: 'starttls',
	username: 'shop',
	password: '…',
	from: { address: 'shop@example.com', name: 'Shop' },
	allowedFrom: ['*@example.com'],
	default: true,
};

/** A change to copy. */
export const CHANGE_EXAMPLE = { password: '…', from: { name: 'Shop' } };

/** A mail server as it is answered. */
export const SHOWN_EXAMPLE = {
	id: '01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11',
	name: 'main',
	scope: 'TENANT',
	host: 'smtp.example.com',
	port: 587,
	security: 'starttls',
	username: 'shop',
	hasPassword: true,
	from: { address: 'shop@example.com', name: 'Shop' },
	allowedFrom: ['*@example.com'],
	default: true,
	ratePerMinute: null,
	dailyLimit: null,
	ambiguous: 'resend',
	dkim: { domain: 'example.com', selector: 's1' },
	active: true,
	gate: OPEN_GATE,
	createdAt: '2026-11-30T09:00:00.000Z',
	updatedAt: '2026-11-30T09:00:00.000Z',
};

/** The tier of a mail server that a caller sees: what is not of the tenant that the request is about is the platform's. */
export function tierOf(server: StoredServer, { tenant }: Caller): ShownServer['scope'] {
	return server.tenantId === tenant.id ? tenant.kind : 'PLATFORM';
}

/** Mail servers of one owner as they are answered: without their secrets, each with its gate. */
export async function showServers({ pool }: Pick<Db, 'pool'>, servers: readonly StoredServer[], caller: Caller): Promise<ShownServer[]> {
	const [first] = servers;
	if (first === undefined) return [];
	const ids = servers.map((one) => one.id);
	const gates = await findGates(pool, first.tenantId, ids);
	return servers.map((one) => showServer(one, tierOf(one, caller), showGate(gates.get(one.id), one.createdAt, caller)));
}

function showServer(server: StoredServer, scope: ShownServer['scope'], gate: ShownServer['gate']): ShownServer {
	return {
		id: server.id,
		name: server.name,
		scope,
		host: server.host,
		port: server.port,
		security: server.security as ShownServer['security'],
		username: server.username,
		hasPassword: server.passwordSealed !== null,
		from: { address: server.fromAddress, name: server.fromName },
		allowedFrom: server.allowedFrom,
		default: server.isDefault,
		ratePerMinute: server.ratePerMinute,
		dailyLimit: server.dailyLimit,
		ambiguous: server.onAmbiguous as ShownServer['ambiguous'],
		dkim: server.dkimDomain === null || server.dkimSelector === null ? null : { domain: server.dkimDomain, selector: server.dkimSelector },
		active: server.active,
		gate,
		createdAt: server.createdAt.toISOString(),
		updatedAt: server.updatedAt.toISOString(),
	};
}
