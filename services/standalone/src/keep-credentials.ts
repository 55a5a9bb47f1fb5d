import { existsSync, readFileSync } from 'node:fs';
import { matchesSecret, parseApiKey } from '@tidings/crypto';
import type { Db } from '@tidings/db';
import { type Bootstrapped, bootstrap } from '@tidings/message-api';

/** The first tenant and its keys: those of the last start while they are still good, else fresh ones. `file` is what the last start wrote. */
export async function keepCredentials(db: Db, file: string): Promise<Bootstrapped> {
	const known = readFormer(file);
	if (known !== null && (await isGood(db, known.apiKey)) && (await isGood(db, known.platformKey))) return known;
	return await bootstrap(db);
}

function readFormer(file: string): Bootstrapped | null {
	if (!existsSync(file)) return null;
	try {
		const { tenantId, apiKey, platformKey } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Record<string, unknown>>;
		return typeof tenantId === 'string' && typeof apiKey === 'string' && typeof platformKey === 'string'
			? { tenantId, apiKey, platformKey }
			: null;
	} catch {
		// A file that cannot be read is written anew.
		return null;
	}
}

async function isGood(db: Db, text: string): Promise<boolean> {
	const key = parseApiKey(text);
	if (key === null) return false;
	const row = await db.prisma.apiKey.findFirst({ where: { keyId: key.keyId } });
	return row !== null && row.revokedAt === null && row.expiresAt === null && matchesSecret(key.secret, row.secretSha256);
}
