import type { Db, PrismaTx } from '@tidings/db';
import { Problem } from '@tidings/model';

/** Prisma's code for a unique key that is there already. */
const UNIQUE = 'P2002';

/**
 * Runs an act that inserts something whose name is unique, in one transaction; a taken name is a `Problem` 409.
 * The tenant's row is locked first, so that two acts on one tenant (two new defaults, say) come one after the other. `tenantId` null: the name is unique over all tenants.
 */
export async function insertUnique<T>(
	db: Db,
	options: { tenantId: string | null; taken: string },
	act: (tx: PrismaTx) => Promise<T>,
): Promise<T> {
	try {
		return await db.prisma.$transaction(async (tx) => {
			if (options.tenantId !== null) await tx.$queryRaw`select id from tenant where id = ${options.tenantId}::uuid for update`;
			return await act(tx);
		});
	} catch (error) {
		if (typeof error === 'object' && error !== null && 'code' in error && error.code === UNIQUE)
			throw new Problem('name-taken', options.taken, { cause: error });
		throw error;
	}
}
