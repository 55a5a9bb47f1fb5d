import type { OperationRequest } from '@tidings/runtime';
import { Type } from 'typebox';
import { beginChecks, refuseFaulty, textOf } from '../checks/faults.js';
import { NOTE } from './shapes.js';

/** The body of an act that has nothing but a note. */
export const NoteBody = Type.Object({ note: NOTE }, { additionalProperties: false });

/** The note of such a body; null: none. Throws the faults of the body, all at once. */
export function readNote(request: OperationRequest): string | null {
	const { raw, faults } = beginChecks(request);
	const note = textOf(raw, 'note', '', faults);
	refuseFaulty(faults);
	return note;
}
