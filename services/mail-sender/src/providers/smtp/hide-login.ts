/** Takes a password out of what a server said. */
export type Hide = (text: string) => string;

/** A shorter password may be a word that servers use ("wrong name or password"): taking that out would spoil what they say, and tell which word it is. It is looked for only as it was sent, encoded. */
const LEAST_CHARACTERS = 8;
/** A shorter one encoded stands in texts by chance, too; it is looked for only within the whole log-in. */
const LEAST_ENCODED = 4;

/**
 * Makes what takes the password of a log-in out of a server's words, in every form in which the server got it: some repeat the line that they refuse, and what a server says
 * is stored and shown. Null: there is no log-in.
 */
export function createHide(auth: { readonly user: string; readonly password: string } | null): Hide {
	if (auth === null || auth.password === '') return (text) => text;
	const { user, password } = auth;
	const open = password.length < LEAST_CHARACTERS ? [] : [password, encodeURIComponent(password)];
	const sent = [`\0${user}\0${password}`, ...(password.length < LEAST_ENCODED ? [] : [password])];
	const encoded = sent.map((one) => Buffer.from(one).toString('base64').replace(/=+$/, ''));
	const forms = [...encoded.map((one) => `${escaped(one)}={0,2}`), ...open.map(escaped)].sort((a, b) => b.length - a.length);
	const pattern = new RegExp(forms.join('|'), 'gi');
	return (text) => text.replace(pattern, '[password]');
}

function escaped(text: string): string {
	return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
