import type { Mailbox, NewRecipient } from '@tidings/db';
import { LIMITS } from '@tidings/model';
import { hashOfAddress, readAddress } from '../checks/address.js';
import { type Faults, lineOf, listOf, type Raw, rawOf } from '../checks/faults.js';
import { faultOfEncoding, faultOfLine } from '../checks/text.js';

/** Reads a mailbox (a text, or an object with address and name). Null when it is wrong, which is then among the faults. */
export function readMailbox(value: unknown, at: string, faults: Faults): Mailbox | null {
	if (typeof value === 'string') return mailbox(value, null, at, faults);
	const raw = rawOf(value);
	if (raw === null) return null;
	const name = lineOf(raw, 'name', at, faults);
	const encoded = name === null ? null : faultOfEncoding(name);
	if (encoded !== null) faults.add(`${at}/name`, 'bad-format', encoded);
	return typeof raw['address'] === 'string' ? mailbox(raw['address'], name, `${at}/address`, faults) : null;
}

function mailbox(text: string, name: string | null, at: string, faults: Faults): Mailbox | null {
	if (faults.isTooLong(at)) return null;
	const address = readAddress(text);
	if (address !== null) return { address, name: name === null || name.trim() === '' ? null : name };
	const control = faultOfLine(text);
	if (control === null)
		faults.add(
			at,
			'bad-address',
			'This is not one plain mail address. A name goes into `name`, another recipient into an entry of its own.',
		);
	else faults.add(at, 'control-character', control);
	return null;
}

const LISTS = [
	['to', LIMITS.to],
	['cc', LIMITS.cc],
	['bcc', LIMITS.bcc],
] as const;

/** Reads to, cc and bcc. No mailbox may stand twice: it would get the mail once and be counted twice. */
export function readRecipients(raw: Raw, at: string, faults: Faults): NewRecipient[] {
	const recipients: NewRecipient[] = [];
	const seen = new Set<string>();
	for (const [role, most] of LISTS) {
		for (const [index, value] of listOf(raw[role], most).entries()) {
			const pointer = `${at}/${role}/${index}`;
			const read = readMailbox(value, pointer, faults);
			if (read === null) continue;
			if (seen.has(read.address)) faults.add(pointer, 'duplicate', 'This recipient stands twice among `to`, `cc` and `bcc`.');
			seen.add(read.address);
			recipients.push({ role, ...read, addressHash: hashOfAddress(read.address) });
		}
	}
	return recipients;
}
