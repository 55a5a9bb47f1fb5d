import { type Db, type LetterFilter, listLetters } from '@tidings/db';
import type { Caller } from '@tidings/runtime';
import type { Static } from 'typebox';
import { type LetterSchema, showLetter } from './letter-shape.js';
import { createRecordMasks } from './record-masks.js';
import { cursorOf, pageOf } from './shapes.js';

type Letter = Static<typeof LetterSchema>;

/** Letters that are looked at together, and how often in one request, when each must be compared as it is shown. */
const STRIDE = 201;
const MOST_ROUNDS = 10;

/**
 * A page of a tenant's letters as the caller may see them, newest first. `text` is looked for in what they see: otherwise whoever may not read an address could find it out
 * character by character, and how many letters are walked says nothing of their text either. Among very many letters a page may be short and still have a `nextCursor`.
 */
export async function searchLetters(
	db: Db,
	caller: Caller,
	filter: LetterFilter,
	limit: number,
): Promise<{ data: readonly Letter[]; nextCursor: string | null }> {
	const { text: wanted, ...others } = filter;
	const text = caller.capabilities.has('content:read') ? undefined : wanted?.toLowerCase();
	const asked = text === undefined ? filter : others;
	const stride = text === undefined ? limit + 1 : STRIDE;
	const shown: Letter[] = [];
	let before = filter.before;
	for (let round = 0; round < MOST_ROUNDS; round += 1) {
		const rows = await listLetters(db.pool, caller.tenant.id, { ...asked, ...(before === undefined ? {} : { before }) }, stride);
		const maskOf = await createRecordMasks(
			db,
			caller,
			rows.map((row) => row.recordId),
		);
		const letters = rows.map((row) => showLetter(row, maskOf(row.recordId)));
		shown.push(...(text === undefined ? letters : letters.filter((one) => holds(one, text))));
		before = rows.at(-1)?.id;
		if (shown.length > limit || rows.length < stride || before === undefined) {
			const page = pageOf(shown, limit);
			return { data: page.rows, nextCursor: page.nextCursor };
		}
	}
	return { data: shown, nextCursor: before === undefined ? null : cursorOf(before) };
}

function holds({ error, type }: Letter, text: string): boolean {
	return [error, type].some((one) => one?.toLowerCase().includes(text) === true);
}
