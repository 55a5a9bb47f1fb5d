import type { PrismaTx } from '@tidings/db';
import { newId } from '@tidings/model';

/** Who did it, and in which trace. */
export type Actor = { readonly actor: string; readonly traceId: string };

/** What was done to what. `detail` holds no secret and no content. */
export type Deed = {
	readonly tenantId: string;
	readonly action: string;
	readonly subjectType: string;
	readonly subjectId: string;
	readonly detail: Readonly<Record<string, string | boolean | readonly string[] | null>>;
};

/** Writes what a person did, in the transaction that does it. */
export async function audit(tx: PrismaTx, { actor, traceId }: Actor, deed: Deed): Promise<void> {
	await tx.auditEvent.create({ data: { id: newId(), actor, traceId, ...deed, detail: { ...deed.detail } } });
}
