/** The id of the key that sealed a field; null when the text does not have the form of one. Opens nothing. */
export function keyIdOf(sealed: string): string | null {
	// From the right: a key id may hold dots, base64url may not.
	const id = sealed.split('.').slice(0, -3).join('.');
	return id === '' ? null : id;
}
