import { type Keyring, keyIdOf, open, type SealedField, seal } from '@tidings/crypto';
import { type Db, listSealed, reseal, SEALED_COLUMNS, type SealedColumn, type StoredSecret, troubleOf } from '@tidings/db';

/** What a rotation found and did, in sealed fields. */
export type Rotation = {
	/** Sealed with the newest key by this run. */
	readonly rotated: number;
	/** Still sealed with an older key that is there: by a dry run, or changed by somebody again and again while it ran. */
	readonly left: number;
	/** Left as they are, because they cannot be opened. */
	readonly failed: number;
	/** How many are sealed with which key now. */
	readonly byKey: Readonly<Record<string, number>>;
};

/** What a rotation needs. */
export type RotationOptions = {
	readonly pool: Db['pool'];
	/** Its newest key is the one that shall seal everything. */
	readonly keyring: Keyring;
	/** Only looks and counts. */
	readonly dryRun: boolean;
	/** Fields looked at at once; default 200. */
	readonly batch?: number;
	/** Told a line for each field that cannot be opened: `table.column id: why`. It names the id of a key, and nothing of a secret. */
	readonly report: (line: string) => void;
};

/** How often a field is looked at again that somebody else changed in between. */
const ROUNDS = 5;

/**
 * Seals every field that an older key has sealed with the newest key, each by compare-and-swap, so that who changes a secret meanwhile wins. It may be broken off and run again, and several
 * may run at once; services go on, as long as they have both keys. It crosses tenants by nature: the keys are the operator's. A field that cannot be opened is reported and left.
 */
export async function rotateKeys(options: RotationOptions): Promise<Rotation> {
	const sum = { rotated: 0, left: 0, failed: 0 };
	const byKey = new Map<string, number>();
	const tally: Tally = (end, keyId) => {
		if (end !== 'stays') sum[end] += 1;
		byKey.set(keyId, (byKey.get(keyId) ?? 0) + 1);
	};
	for (const column of SEALED_COLUMNS) await rotateColumn(options, column, tally);
	return { ...sum, byKey: Object.fromEntries([...byKey].sort()) };
}

type Tally = (end: keyof Omit<Rotation, 'byKey'> | 'stays', keyId: string) => void;

async function rotateColumn(options: RotationOptions, column: SealedColumn, tally: Tally): Promise<void> {
	const limit = options.batch ?? 200;
	for (let after: string | null = null; ; ) {
		const page: StoredSecret[] = await listSealed(options.pool, column, { after, limit });
		const last = page.at(-1);
		if (last === undefined) return;
		await rotatePage(options, column, page, tally);
		after = last.id;
	}
}

async function rotatePage(
	{ pool, keyring, dryRun, report }: RotationOptions,
	column: SealedColumn,
	page: readonly StoredSecret[],
	tally: Tally,
): Promise<void> {
	let waiting = page;
	for (let round = 0; waiting.length > 0; round += 1) {
		const due: (StoredSecret & { fresh: string; keyId: string })[] = [];
		for (const stored of waiting) {
			const { keyId, fault, clear } = look(keyring, column, stored);
			if (fault !== null) {
				report(`${column.table}.${column.column} ${stored.id}: ${fault}`);
				tally('failed', keyId);
			} else if (keyId === keyring.newest.id) tally('stays', keyId);
			else if (dryRun || round === ROUNDS) tally('left', keyId);
			else due.push({ ...stored, keyId, fresh: seal(keyring, clear, placeOf(column, stored)) });
		}
		const done = new Set(due.length === 0 ? [] : await reseal(pool, column, due).catch(noneOnDeadlock));
		for (const _ of done) tally('rotated', keyring.newest.id);
		const lost = due.filter((one) => !done.has(one.id)).map((one) => one.id);
		waiting = lost.length === 0 ? [] : await listSealed(pool, column, { ids: lost });
	}
}

/** Who changes servers may lock them in another order: then these are looked at again. */
function noneOnDeadlock(error: unknown): string[] {
	if (troubleOf(error) !== 'retryable') throw error;
	return [];
}

type Looked =
	| { readonly keyId: string; readonly fault: null; readonly clear: string }
	| { readonly keyId: string; readonly fault: string; readonly clear: null };

/** Opens a field, also one that the newest key has sealed: when that does not open, this run may have another key than the services under the same id. */
function look(keyring: Keyring, column: SealedColumn, stored: StoredSecret): Looked {
	const keyId = keyIdOf(stored.sealed);
	if (keyId === null) return { keyId: '?', fault: 'is not a sealed field', clear: null };
	if (keyring.find(keyId) === undefined) return { keyId, fault: `needs the key ${keyId}`, clear: null };
	try {
		return { keyId, fault: null, clear: open(keyring, stored.sealed, placeOf(column, stored)) };
	} catch {
		return { keyId, fault: `does not open with the key ${keyId}`, clear: null };
	}
}

function placeOf({ table, column }: SealedColumn, { tenantId, id }: StoredSecret): SealedField {
	return { tenantId, table, column, rowId: id };
}
