import { Problem } from '@tidings/model';
import { faultOfText } from '../checks/text.js';
import { readTime } from '../checks/time.js';

/** Throws 400 when a query field, or its name, holds what the database does not take. */
export function refuseControls(query: Readonly<Record<string, string>>): void {
	for (const [field, value] of Object.entries(query)) {
		if (faultOfText(field + value) !== null) throw new Problem('malformed-request', 'A query field holds a control character.');
	}
}

/** The time in a query field; throws 400 when it is none. */
export function timeIn(field: string, text: string): Date {
	// In a query a bare `+` reads as a space: `+08:00` is taken in both spellings.
	const time = readTime(text.replace(' ', '+'));
	if (time === null) throw new Problem('malformed-request', `\`${field}\` must be an RFC 3339 time with a zone.`);
	return time;
}
