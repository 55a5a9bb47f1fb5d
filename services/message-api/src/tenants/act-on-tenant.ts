import { type Db, moveTenant, type PrismaTx, queryableOf, type TenantMove, troubleOf } from '@tidings/db';
import { Problem } from '@tidings/model';
import { audit } from '../audit.js';
import type { StoredTenant } from './tenant-schema.js';

/** Who acts on tenants, and with what. */
export type TenantContext = {
	readonly db: Db;
	/** As the audit shows it. */
	readonly actor: string;
	readonly traceId: string;
	/** Has this process look up again what it remembers about tenants. */
	forget(): void;
};

/** What an act wants: a move, what is refused before it, and what belongs to it in the same transaction. */
export type TenantPlan = {
	readonly move: TenantMove;
	readonly note: string | null;
	/** Is shown the tenant under its lock; throws when the act is refused. */
	readonly refuse?: (tenant: StoredTenant) => void;
	readonly also?: (tx: PrismaTx) => Promise<void>;
};

/** As long as one statement may take: a tenant with many full flows is resumed in one. */
const ACT_MS = 30_000;

/**
 * Runs one act on one tenant: its row is locked, then come the refusals, the compare-and-swap on its status, the companions and the audit, all in one transaction.
 * Throws a `Problem`: 404, or 409 that says the state.
 */
export async function actOnTenant(context: TenantContext, id: string, plan: TenantPlan): Promise<StoredTenant> {
	for (let round = 1; ; round += 1) {
		try {
			const tenant = await context.db.prisma.$transaction((tx) => attempt(context, tx, { id, plan }), { timeout: ACT_MS });
			context.forget();
			return tenant;
		} catch (error) {
			// A dead-lock or a failed serialization: the whole act is simply done again.
			if (round === 3 || troubleOf(error) !== 'retryable') throw error;
		}
	}
}

async function attempt(context: TenantContext, tx: PrismaTx, { id, plan }: { id: string; plan: TenantPlan }): Promise<StoredTenant> {
	await tx.$queryRaw`select id from tenant where id = ${id}::uuid for update`;
	const tenant = await tx.tenant.findUnique({ where: { id } });
	if (tenant === null) throw noSuchTenant();
	plan.refuse?.(tenant);
	const { move, note } = plan;
	if (!(await moveTenant(queryableOf(tx), id, move))) throw new Problem('state-conflict', whyNot(move.act, tenant));
	await plan.also?.(tx);
	const detail = { from: tenant.status, note, ...(move.act === 'delete' ? { queued: move.queued } : {}) };
	await audit(tx, context, { tenantId: id, action: `tenant.${move.act}`, subjectType: 'tenant', subjectId: id, detail });
	return await tx.tenant.findUniqueOrThrow({ where: { id } });
}

function whyNot(act: TenantMove['act'], { kind, status, erasingAt }: StoredTenant): string {
	if (kind === 'PLATFORM') return `The tenant is ${status}, and it is the platform’s own: that one can be neither suspended nor deleted.`;
	if (erasingAt !== null) return `The tenant is ${status}, and erasing it has begun: there is no way back.`;
	switch (act) {
		case 'suspend':
			return `The tenant is ${status}: only an ACTIVE one can be suspended.`;
		case 'resume':
			return `The tenant is ${status}: only one that is SUSPENDED or DELETING can be resumed.`;
		case 'delete':
			return `The tenant is ${status} already. To have what waits treated otherwise, resume it first.`;
	}
}

/** The refusal for a tenant that is not there. */
export function noSuchTenant(): Problem {
	return new Problem('not-found', 'There is no such tenant.');
}
