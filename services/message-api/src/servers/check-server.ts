import { checkOutboundHost } from '@tidings/runtime';
import { type Faults, type Raw, rawOf } from '../checks/faults.js';
import { faultOfLine } from '../checks/text.js';
import { type CheckedDkim, checkDkim } from './check-dkim.js';
import { type CheckedFrom, checkFrom } from './check-from.js';

/** Parts of a mail server that are stored otherwise than they were given. Only to be used when there were no faults. */
export type CheckedServer = CheckedFrom & { readonly dkim: CheckedDkim | null };

/** Whether mail servers may have private, loopback or link-local addresses. */
type HostRule = { readonly allowPrivateHosts: boolean };

/** Checks what no schema can: characters that would reach the wire, addresses, keys, and whether the host may be dialled. Also when the shape is wrong, as far as it goes. */
export async function checkServer(raw: Raw, faults: Faults, rule: HostRule): Promise<CheckedServer> {
	if (raw['username'] === undefined && raw['password'] !== undefined) faults.add('/username', 'required', 'A password needs a username.');
	if (raw['username'] !== undefined && raw['password'] === undefined) faults.add('/password', 'required', 'A username needs a password.');
	if (raw['default'] === true && raw['active'] === false)
		faults.add('/default', 'contradiction', 'A server that is not active cannot be the default: leave out `default`, or make it active.');
	await checkGiven(raw, faults, rule);
	const dkim = rawOf(raw['dkim']);
	return { ...checkFrom(raw, faults), dkim: dkim === null ? null : checkDkim(dkim, faults) };
}

/** Checks the fields that say something by themselves, those that are there. The host is resolved. */
export async function checkGiven(raw: Raw, faults: Faults, rule: HostRule): Promise<void> {
	for (const field of ['name', 'username', 'password']) checkLine(raw[field], `/${field}`, faults);
	await checkHost(raw['host'], faults, rule.allowPrivateHosts);
}

async function checkHost(host: unknown, faults: Faults, allowPrivate: boolean): Promise<void> {
	if (typeof host !== 'string' || host === '' || faults.isTooLong('/host') || checkLine(host, '/host', faults)) return;
	const checked = await checkOutboundHost(host, { allowPrivate });
	if (checked.kind === 'refused') faults.add('/host', 'host-not-allowed', `This host cannot be used: ${checked.reason}.`);
	// A private network's names may be known to the senders only.
	if (checked.kind === 'unresolved' && !allowPrivate) faults.add('/host', 'host-unknown', `This host cannot be used: ${checked.reason}.`);
}

function checkLine(value: unknown, pointer: string, faults: Faults): boolean {
	const fault = typeof value === 'string' && !faults.isTooLong(pointer) ? faultOfLine(value) : null;
	if (fault !== null) faults.add(pointer, 'control-character', fault);
	return fault !== null;
}
