import type { Mailbox } from '@tidings/db';
import { pointerTo } from '@tidings/runtime';
import { readAddress, readDomain } from '../checks/address.js';
import { type Faults, type Raw, rawOf } from '../checks/faults.js';
import { readMailbox } from '../mail/read-mailbox.js';
import { allowsFrom } from './resolve-server.js';

/** The default From of a mail server, and what mails may name instead. */
export type CheckedFrom = { readonly from: Mailbox; readonly allowedFrom: readonly string[] };

/** Checks `from` and `allowedFrom`, which must cover it (absent or null: just that address). `uncoveredAt`: which of the two is at fault when it does not. */
export function checkFrom(raw: Raw, faults: Faults, uncoveredAt = '/from/address'): CheckedFrom {
	const given = rawOf(raw['from']);
	const from = given === null ? null : readMailbox(given, '/from', faults);
	const patterns = Array.isArray(raw['allowedFrom']) ? raw['allowedFrom'].slice(0, 100) : null;
	const allowedFrom = (patterns ?? []).flatMap((pattern: unknown, index) => {
		if (typeof pattern !== 'string' || faults.isTooLong('/allowedFrom', String(index))) return [];
		const read = readPattern(pattern);
		if (read === null)
			faults.add(pointerTo('/allowedFrom', index), 'bad-address', 'This is neither one plain mail address nor `*@domain`.');
		return read ?? [];
	});
	if (from !== null && patterns !== null && !allowsFrom(allowedFrom, from.address))
		faults.add(uncoveredAt, 'from-not-allowed', `\`allowedFrom\` must cover the default From, ${from.address}.`);
	return { from: from ?? { address: '', name: null }, allowedFrom: patterns === null ? [from?.address ?? ''] : [...new Set(allowedFrom)] };
}

function readPattern(pattern: string): string | null {
	if (!pattern.startsWith('*@')) return readAddress(pattern);
	const domain = readDomain(pattern.slice(2));
	return domain === null ? null : `*@${domain}`;
}
