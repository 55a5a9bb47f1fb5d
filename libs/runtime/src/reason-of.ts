import { types } from 'node:util';

/** What an error says, for a person. An error over several causes without words of its own (a connect over several addresses) speaks by its first. */
export function reasonOf(error: unknown): string {
	if (!isError(error)) return String(error);
	const { errors } = error as Error & { errors?: unknown };
	if (error.message === '' && Array.isArray(errors) && errors.length > 0) return reasonOf(errors[0]);
	return error.message === '' ? error.name : error.message;
}

/** Also true for an error of another realm. */
export function isError(value: unknown): value is Error {
	return value instanceof Error || types.isNativeError(value);
}
