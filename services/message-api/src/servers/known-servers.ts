import { type ActiveServer, type Db, listActiveServers } from '@tidings/db';
import { monotonic } from '@tidings/model';

/** The active mail servers of tenants, remembered for at most a second. */
export type KnownServers = {
	/** At once when they were read lately. */
	get(tenantId: string): readonly ActiveServer[] | Promise<readonly ActiveServer[]>;
	/** As they are now: before anything is refused. */
	reread(tenantId: string): Promise<readonly ActiveServer[]>;
	/** Nothing remembered holds any more: a server was changed here. */
	forget(): void;
};

const REMEMBER_MS = 1_000;
const REMEMBER_MOST = 10_000;

/** Makes the memory of mail servers. Callers that ask at the same time share one read. */
export function createKnownServers(db: Pick<Db, 'pool'>): KnownServers {
	let known = new Map<string, { servers: readonly ActiveServer[]; until: number }>();
	const asked = new Map<string, Promise<readonly ActiveServer[]>>();

	const reread = async (tenantId: string): Promise<readonly ActiveServer[]> => {
		const memory = known;
		const until = monotonic() + REMEMBER_MS;
		const servers = await listActiveServers(db.pool, tenantId);
		if (memory.size >= REMEMBER_MOST) memory.clear();
		// When everything was forgotten meanwhile, this goes into the memory that nobody looks into.
		memory.set(tenantId, { servers, until });
		return servers;
	};
	const ask = (tenantId: string): Promise<readonly ActiveServer[]> => {
		const running = asked.get(tenantId) ?? reread(tenantId).finally(() => asked.delete(tenantId));
		asked.set(tenantId, running);
		return running;
	};
	return {
		get: (tenantId) => {
			const hit = known.get(tenantId);
			return hit !== undefined && hit.until > monotonic() ? hit.servers : ask(tenantId);
		},
		reread,
		forget: () => {
			known = new Map();
			asked.clear();
		},
	};
}
