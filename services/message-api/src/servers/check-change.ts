import { type Faults, type Raw, rawOf } from '../checks/faults.js';
import { type CheckedDkim, checkDkim } from './check-dkim.js';
import { type CheckedFrom, checkFrom } from './check-from.js';
import { checkGiven } from './check-server.js';
import type { StoredServer } from './create-server.js';

/** What a change makes of the parts of a mail server that hang together; null: they stay as they are. Only to be used when there were no faults. */
export type CheckedChange = {
	readonly login: 'stays' | 'goes' | 'comes';
	readonly from: CheckedFrom | null;
	/** `privateKey` null: the stored one stays. */
	readonly dkim: CheckedDkim | null;
};

/**
 * Checks a change (RFC 7396) of a mail server as a whole: what it gives, and whether it fits to what stays. Every fault points into what was given.
 * What stays is not looked at again by itself: a server whose host is gone can still be renamed, or switched off.
 */
export async function checkChange(
	stored: StoredServer,
	raw: Raw,
	faults: Faults,
	rule: { allowPrivateHosts: boolean },
): Promise<CheckedChange> {
	if (raw['default'] === true && raw['active'] !== true && (raw['active'] === false || !stored.active))
		faults.add('/default', 'contradiction', 'A server that is not active cannot be the default: give `active` as true with it.');
	await checkGiven(raw, faults, rule);
	return { login: loginAfter(stored, raw, faults), from: fromAfter(stored, raw, faults), dkim: dkimAfter(stored, raw, faults) };
}

function loginAfter(stored: StoredServer, raw: Raw, faults: Faults): CheckedChange['login'] {
	const { username, password } = raw;
	const given = [username, password].filter((one) => one !== undefined);
	if (given.length === 0) {
		refuseToCarry(stored, raw, faults);
		return 'stays';
	}
	if (given.every((one) => one === null)) return 'goes';
	const isNamed = username === undefined ? stored.username !== null : username !== null;
	const isSecret = password === undefined ? stored.passwordSealed !== null : password !== null;
	if (!isNamed) faults.add('/username', 'required', 'A password needs a username.');
	if (!isSecret) faults.add('/password', 'required', 'A username needs a password.');
	if (password === undefined) refuseToCarry(stored, raw, faults);
	return 'comes';
}

/** A password that nobody can read must not be sent to where somebody else listens: whoever moves a server, or weakens its connection, knows its password. */
function refuseToCarry(stored: StoredServer, raw: Raw, faults: Faults): void {
	const moves = (['host', 'security'] as const).filter((field) => raw[field] !== undefined && raw[field] !== stored[field]);
	if (stored.passwordSealed !== null && moves.length > 0)
		faults.add(
			'/password',
			'required',
			`Give the password again when you change ${moves.map((one) => `\`${one}\``).join(', ')}: a stored one is not taken elsewhere.`,
		);
}

function fromAfter(stored: StoredServer, raw: Raw, faults: Faults): CheckedFrom | null {
	const { from, allowedFrom } = raw;
	if (from === undefined && allowedFrom === undefined) return null;
	const given = rawOf(from) ?? {};
	const merged = {
		from: { address: stored.fromAddress, name: stored.fromName, ...given },
		allowedFrom: allowedFrom === undefined ? stored.allowedFrom : allowedFrom,
	};
	return checkFrom(merged, faults, given['address'] === undefined ? '/allowedFrom' : '/from/address');
}

function dkimAfter(stored: StoredServer, raw: Raw, faults: Faults): CheckedDkim | null {
	const given = rawOf(raw['dkim']);
	if (given === null) return null;
	if (stored.dkimDomain === null)
		for (const field of ['domain', 'selector', 'privateKey'])
			if (given[field] === undefined) faults.add(`/dkim/${field}`, 'required', `\`${field}\` is missing: the server does not sign yet.`);
	return checkDkim({ domain: stored.dkimDomain, selector: stored.dkimSelector, ...given }, faults);
}
