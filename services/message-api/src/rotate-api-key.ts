import type { Db, PrismaTx } from '@tidings/db';
import { CAPABILITIES, type Capability, now, Problem } from '@tidings/model';
import { type Actor, audit } from './audit.js';
import { type CreatedKey, createApiKey } from './create-api-key.js';
import { holdTenant } from './hold-tenant.js';
import { type StoredApiKey, takeKey } from './take-api-key.js';

/** RFC 3339 has four digits for a year. */
const LATEST = Date.UTC(9999, 11, 31);

/** What is rotated, and how. */
export type Rotation = {
	readonly tenantId: string;
	readonly id: string;
	/** How long the old key works on; 0: it is revoked at once. */
	readonly graceSeconds: number;
	/** When the new key stops working; null: it lives as long as the old one was made for. */
	readonly expiresAt: Date | null;
	/** What the caller holds. */
	readonly held: ReadonlySet<Capability>;
};

/** The new key, and the one that it takes the place of. */
export type RotatedKey = { readonly made: CreatedKey; readonly old: StoredApiKey };

/**
 * Makes a key with the name and the capabilities of another one, which ends after the grace, and never later than it would have. A `Problem` 404 when the tenant has no such
 * key, 409 when it works no more or was rotated already, 403 when it holds what the caller does not.
 */
export async function rotateApiKey(db: Db, who: Actor, rotation: Rotation): Promise<RotatedKey> {
	const { tenantId, id } = rotation;
	return await db.prisma.$transaction(async (tx) => {
		await holdTenant(tx, tenantId);
		const old = await takeKey(tx, tenantId, id);
		refuseDead(old);
		const capabilities = capabilitiesOf(old, rotation.held);
		const expiresAt = rotation.expiresAt ?? sameLife(old);
		const made = await createApiKey(tx, who, { tenantId, name: old.name, capabilities, expiresAt });
		const endsAt = await endOld(tx, old, { graceSeconds: rotation.graceSeconds, replacedBy: made.id });
		const detail = { keyId: old.keyId, name: old.name, newKeyId: made.keyId, endsAt: endsAt.toISOString() };
		await audit(tx, who, { tenantId, action: 'api-key.rotate', subjectType: 'api-key', subjectId: id, detail });
		return { made, old };
	});
}

function refuseDead({ revokedAt, expiresAt, replacedBy }: StoredApiKey): void {
	if (revokedAt !== null) throw new Problem('state-conflict', `The key was revoked at ${revokedAt.toISOString()}. Make a new one.`);
	if (expiresAt !== null && expiresAt <= now())
		throw new Problem('state-conflict', `The key has expired at ${expiresAt.toISOString()}. Make a new one.`);
	// Its end is that of a grace now: a second key would be made for as long as that.
	if (replacedBy !== null)
		throw new Problem('state-conflict', `The key was rotated already: ${replacedBy} takes its place. Rotate that one, or make a new one.`);
}

/** Nobody gets what they do not hold by rotating a key that holds it. */
function capabilitiesOf(old: StoredApiKey, held: ReadonlySet<string>): readonly Capability[] {
	const lacking = old.capabilities.filter((one) => !held.has(one));
	if (lacking.length > 0)
		throw new Problem('capability-missing', `Nobody can give what they do not hold: ${lacking.map((one) => `\`${one}\``).join(', ')}.`);
	return CAPABILITIES.filter((one) => old.capabilities.includes(one));
}

/** A key that was made for 90 days is followed by one for 90 days. */
function sameLife({ createdAt, expiresAt }: StoredApiKey): Date | null {
	return expiresAt === null ? null : new Date(Math.min(LATEST, now().getTime() + expiresAt.getTime() - createdAt.getTime()));
}

async function endOld(
	tx: PrismaTx,
	old: StoredApiKey,
	{ graceSeconds, replacedBy }: { graceSeconds: number; replacedBy: string },
): Promise<Date> {
	const { id, tenantId } = old;
	const at = now();
	const graced = new Date(at.getTime() + graceSeconds * 1_000);
	const endsAt = old.expiresAt !== null && old.expiresAt < graced ? old.expiresAt : graced;
	await tx.apiKey.update({
		where: { id, tenantId },
		data: { replacedBy, ...(graceSeconds === 0 ? { revokedAt: at } : { expiresAt: endsAt }) },
	});
	return endsAt;
}
