import { type Static, type TSchema, Type } from 'typebox';
import { TEXT_FORM } from '../checks/text.js';

/** The same schema, or null. */
export function nullable<T extends TSchema>(schema: T): ReturnType<typeof Type.Unsafe<Static<T> | null>> {
	const { type, ...rest } = schema as unknown as { type: string };
	return Type.Unsafe<Static<T> | null>({ ...rest, type: [type, 'null'] });
}

/** A time as answers show it: RFC 3339, UTC, milliseconds. */
export function timeText(description: string): ReturnType<typeof Type.String> {
	return Type.String({ description, format: 'date-time' });
}

/** Why a person acts; a field of bodies. */
export const NOTE = Type.Optional(Type.String({ ...TEXT_FORM, maxLength: 1_000, description: 'Why; kept in the audit.' }));

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
	cursor: Type.Optional(
		Type.String({ pattern: '^1[0-9a-f]{32}$', 'x-form': 'one that a list gave', description: '`nextCursor` of the page before.' }),
	),
};

/** A page that is asked for. `before`: only what is older than this id. */
export function readPage(query: { limit?: string; cursor?: string }): { readonly limit: number; readonly before: string | undefined } {
	const limit = query.limit === undefined ? DEFAULT_LIMIT : Number(query.limit);
	return { limit, before: query.cursor === undefined ? undefined : idIn(query.cursor) };
}

/** Makes a page out of one row more than it has: that one tells that there are more. */
export function pageOf<T extends { readonly id: string }>(
	rows: readonly T[],
	limit: number,
): { rows: readonly T[]; nextCursor: string | null } {
	const page = rows.slice(0, limit);
	const last = page.at(-1);
	return { rows: page, nextCursor: rows.length > limit && last !== undefined ? cursorOf(last.id) : null };
}

/** A cursor is the version of its form and the digits of the last id: the schema lets no other one pass. */
export function cursorOf(id: string): string {
	return `1${id.replaceAll('-', '')}`;
}

function idIn(cursor: string): string {
	return cursor.slice(1).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** What a list answers. */
export function pageSchema(item: TSchema): TSchema {
	const nextCursor = nullable(Type.String({ description: 'Give it as `cursor` for the page after this one; null on the last page.' }));
	return Type.Object({ data: Type.Array(item), nextCursor }, { description: 'A page, newest first.' });
}
