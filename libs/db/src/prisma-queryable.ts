import type { Queryable } from './client.js';
import type { PrismaClient } from './generated/client.js';

/** A Prisma transaction, as its callbacks see it. */
export type PrismaTx = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0];

/** Lets statements that are written for `pg` run inside a Prisma transaction. Only texts with positional parameters; names are ignored. */
export function queryableOf(tx: PrismaTx): Queryable {
	const query = async (statement: { text: string; values?: unknown[] }): Promise<{ rows: unknown[]; rowCount: number }> => {
		const rows = await tx.$queryRawUnsafe<unknown[]>(statement.text, ...(statement.values ?? []));
		return { rows, rowCount: rows.length };
	};
	return { query: query as Queryable['query'] };
}
