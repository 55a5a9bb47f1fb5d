import { isUuid, Problem } from '@tidings/model';
import { type Static, type TSchema, Type } from 'typebox';

/** The same schema, or null. */
export function nullable<T extends TSchema>(schema: T): ReturnType<typeof Type.Unsafe<Static<T> | null>> {
	const { type, ...rest } = schema as unknown as { type: string };
	return Type.Unsafe<Static<T> | null>({ ...rest, type: [type, 'null'] });
}

/** A time as answers show it: RFC 3339, UTC, milliseconds. */
export function timeText(description: string): ReturnType<typeof Type.String> {
	return Type.String({ description, format: 'date-time' });
}

const DEFAULT_LIMIT = 50;
const MOST = 200;

/** Query fields of every list. */
export const PAGE_QUERY = {
	limit: Type.Optional(
		Type.String({
			pattern: '^([1-9][0-9]?|1[0-9]{2}|200)$',
			'x-form': `a whole number from 1 to ${MOST}`,
			description: `How many, from 1 to ${MOST}; default ${DEFAULT_LIMIT}.`,
		}),
	),
	cursor: Type.Optional(Type.String({ maxLength: 100, description: '`nextCursor` of the page before.' })),
};

/** A page that is asked for. `before`: only what is older than this id. Throws 400 for a cursor that is none. */
export function readPage(query: { limit?: string; cursor?: string }): { readonly limit: number; readonly before: string | undefined } {
	const limit = query.limit === undefined ? DEFAULT_LIMIT : Number(query.limit);
	return { limit, before: query.cursor === undefined ? undefined : readCursor(query.cursor) };
}

/** Makes a page out of one row more than it has: that one tells that there are more. */
export function pageOf<T extends { readonly id: string }>(
	rows: readonly T[],
	limit: number,
): { rows: readonly T[]; nextCursor: string | null } {
	const page = rows.slice(0, limit);
	const last = page.at(-1);
	return { rows: page, nextCursor: rows.length > limit && last !== undefined ? Buffer.from(`1${last.id}`).toString('base64url') : null };
}

function readCursor(cursor: string): string {
	const text = Buffer.from(cursor, 'base64url').toString('latin1');
	if (text.startsWith('1') && isUuid(text.slice(1))) return text.slice(1);
	throw new Problem('malformed-request', '`cursor` is not one that a list gave.');
}

/** What a list answers. */
export function pageSchema(item: TSchema): TSchema {
	return Type.Object({ data: Type.Array(item), nextCursor: nullable(Type.String({ description: 'Null on the last page.' })) });
}
