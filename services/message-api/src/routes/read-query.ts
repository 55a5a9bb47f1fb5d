import { Problem } from '@tidings/model';
import { Type } from 'typebox';
import { faultOfText } from '../checks/text.js';
import { readTime } from '../checks/time.js';

/** Throws 400 when a query field, or its name, holds what the database does not take. */
export function refuseControls(query: Readonly<Record<string, string>>): void {
	for (const [field, value] of Object.entries(query)) {
		if (faultOfText(field + value) !== null) throw new Problem('malformed-request', 'A query field holds a control character.');
	}
}

/** A query field that is a time; read it with `timeIn`. */
export function timeField(description: string) {
	return Type.Optional(Type.String({ maxLength: 40, format: 'date-time', description: `${description} RFC 3339 with a zone.` }));
}

/** A time long ago is as good as any in a question. */
const YEAR_1 = -62_135_596_800_000;

/** The time in a query field; throws 400 when it is none. */
export function timeIn(field: string, text: string): Date {
	// In a query a bare `+` reads as a space: `+08:00` is taken in both spellings.
	const time = readTime(text.replace(' ', '+'), YEAR_1);
	if (time === null) throw new Problem('malformed-request', `\`${field}\` must be an RFC 3339 time with a zone.`);
	return time;
}
