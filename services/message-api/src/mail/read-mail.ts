import { isUuid, LANES, type Lane } from '@tidings/model';
import { refuseDeepNesting } from '@tidings/runtime';
import { type Faults, lineOf, type Raw, rawOf, textOf } from '../checks/faults.js';
import { readTime } from '../checks/time.js';
import type { MailDraft } from './draft.js';
import { readAttachments } from './read-attachments.js';
import { readHeaders, readMetadata } from './read-headers.js';
import { readMailbox, readRecipients } from './read-mailbox.js';

/** What a mail is when its caller does not say. */
const DEFAULT_TYPE = 'mail';
const DEFAULT_LANE: Lane = 'normal';

/**
 * Reads one mail out of a body that a schema has looked at before. Adds what is wrong with its contents to the faults, also when the schema found its shape wrong:
 * what has a wrong shape is passed over here. Throws 413 when its attachments are too large, 400 when its template is nested too deeply.
 */
export function readMail(value: unknown, at: string, now: Date, faults: Faults): MailDraft {
	const raw = rawOf(value) ?? {};
	const content = readContent(raw, at, faults);
	const lane = LANES.find((one) => one === raw['priority']) ?? DEFAULT_LANE;
	return {
		at,
		recipients: readRecipients(raw, at, faults),
		from: raw['from'] === undefined ? null : readMailbox(raw['from'], `${at}/from`, faults),
		replyTo: raw['replyTo'] === undefined ? null : readMailbox(raw['replyTo'], `${at}/replyTo`, faults),
		...content,
		attachments: raw['attachments'] === undefined ? [] : readAttachments(raw['attachments'], `${at}/attachments`, faults),
		headers: raw['headers'] === undefined ? {} : readHeaders(raw['headers'], `${at}/headers`, faults),
		type: lineOf(raw, 'type', at, faults) ?? DEFAULT_TYPE,
		lane,
		scope: raw['scope'] === 'PLATFORM' || raw['scope'] === 'TENANT' ? raw['scope'] : null,
		serverId: readServerId(raw, at, faults),
		dedupeKey: lineOf(raw, 'dedupeKey', at, faults),
		...readTimes(raw, at, now, faults),
		metadata: raw['metadata'] === undefined ? {} : readMetadata(raw['metadata'], `${at}/metadata`, faults),
	};
}

/** Never null for one that was given, without a fault: the mail would go through another server. */
function readServerId(raw: Raw, at: string, faults: Faults): string | null {
	const id = raw['serverId'];
	if (typeof id !== 'string') return null;
	if (isUuid(id)) return id.toLowerCase();
	faults.add(`${at}/serverId`, 'bad-format', '`serverId` must be a UUID.');
	return null;
}

function readContent(raw: Raw, at: string, faults: Faults): Pick<MailDraft, 'subject' | 'text' | 'html'> {
	const subject = lineOf(raw, 'subject', at, faults);
	const text = textOf(raw, 'text', at, faults);
	const html = textOf(raw, 'html', at, faults);
	if (raw['template'] !== undefined) {
		refuseDeepNesting(raw['template']);
		faults.add(`${at}/template`, 'not-available', 'This release has no templates yet: give `subject` and `text` or `html`.');
	} else {
		if (isBlank(raw['subject'])) faults.add(`${at}/subject`, 'no-content', 'A mail needs a `subject`.');
		if (isBlank(raw['text']) && isBlank(raw['html'])) faults.add(`${at}/text`, 'no-content', 'A mail needs `text` or `html`.');
	}
	return { subject: subject ?? '', text: text === '' ? null : text, html: html === '' ? null : html };
}

function isBlank(value: unknown): boolean {
	return value === undefined || value === '';
}

function readTimes(raw: Raw, at: string, now: Date, faults: Faults): Pick<MailDraft, 'notBefore' | 'validUntil'> {
	const read = (field: string): Date | null => {
		const value = raw[field];
		if (typeof value !== 'string' || faults.isTooLong(at, field)) return null;
		const time = readTime(value);
		if (time === null)
			faults.add(
				`${at}/${field}`,
				'bad-format',
				`\`${field}\` must be an RFC 3339 time with a zone, such as \`2026-11-30T09:00:00Z\`, from the year 2000 to 9999 in UTC.`,
			);
		return time;
	};
	const notBefore = read('notBefore');
	const validUntil = read('validUntil');
	if (validUntil !== null && validUntil <= now) faults.add(`${at}/validUntil`, 'in-the-past', 'This time has passed already.');
	if (validUntil !== null && notBefore !== null && validUntil <= notBefore)
		faults.add(`${at}/validUntil`, 'out-of-order', '`validUntil` must be after `notBefore`.');
	return { notBefore, validUntil };
}
