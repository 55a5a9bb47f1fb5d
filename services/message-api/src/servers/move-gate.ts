import { type Db, pauseGate, pauseRoute, queryableOf, resumeGate, resumeRoute } from '@tidings/db';
import { Problem, type Route } from '@tidings/model';
import { type Actor, audit } from '../audit.js';
import { holdTenant } from '../hold-tenant.js';
import type { StoredServer } from './create-server.js';

/** What a person does with a gate, and why. */
export type GateAct = { readonly act: 'pause' | 'resume'; readonly note: string | null };

/** Pauses or resumes a mail server, with its audit in one transaction. What stands so already is left as it is. Answers whether it was moved: then its flows are to be woken. */
export async function moveServerGate(db: Db, who: Actor, { id, tenantId, name }: StoredServer, { act, note }: GateAct): Promise<boolean> {
	return await db.prisma.$transaction(async (tx) => {
		await holdTenant(tx, tenantId);
		const client = queryableOf(tx);
		const moved = act === 'pause' ? await pauseGate(client, { id, tenantId }, note) : await resumeGate(client, { id, tenantId });
		if (moved)
			await audit(tx, who, { tenantId, action: `mail-server.${act}`, subjectType: 'mail-server', subjectId: id, detail: { name, note } });
		return moved;
	});
}

/** Pauses or resumes a route for all tenants, with its audit in one transaction. What stands so already is left as it is. Throws a `Problem` 404 when there is no platform tenant yet. */
export async function moveRoute(db: Db, who: Actor, route: Route, { act, note }: GateAct): Promise<boolean> {
	return await db.prisma.$transaction(async (tx) => {
		const platform = await tx.tenant.findFirst({ where: { kind: 'PLATFORM' }, select: { id: true } });
		if (platform === null) throw new Problem('not-found', 'There is no platform tenant yet: run `npm run bootstrap`.');
		const client = queryableOf(tx);
		const moved = act === 'pause' ? await pauseRoute(client, { route, platformId: platform.id }, note) : await resumeRoute(client, route);
		if (moved)
			await audit(tx, who, {
				tenantId: platform.id,
				action: `route.${act}`,
				subjectType: 'route',
				subjectId: platform.id,
				detail: { route, note },
			});
		return moved;
	});
}
