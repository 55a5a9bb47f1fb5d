/** What must not be found, by its name: letters and digits in lower case, so that few encodings change it. A longer text is planted around it. */
type Marks = Readonly<Record<string, string>>;

/** Fewer characters of base64 than this may stand anywhere by chance. */
const LEAST_BASE64 = 10;
/** A line break that an encoding puts into a long text, also inside JSON. */
const FOLDS = /=?(?:\r\n|\n|\r|\\+r\\+n|\\+n)[ \t]*/g;

/** Every mark that stands in an output, as `where: name in base64`; empty when none does. */
export function findMarks(marks: Marks, outputs: Readonly<Record<string, string>>): string[] {
	return Object.entries(outputs).flatMap(([where, text]) => {
		const unfolded = text.replace(FOLDS, '');
		const low = [text.toLowerCase(), unfolded.toLowerCase()];
		return Object.entries(marks).flatMap(([name, mark]) => {
			const plain = plainClothes(mark).find((one) => low.some((all) => all.includes(one.text)));
			const folded = base64Clothes(mark).find((one) => text.includes(one.text) || unfolded.includes(one.text));
			return [plain, folded].flatMap((found) => (found === undefined ? [] : [`${where}: ${name} ${found.as}`]));
		});
	});
}

type Clothing = { readonly as: string; readonly text: string };

/** Compared in lower case. */
function plainClothes(mark: string): Clothing[] {
	const bytes = [...Buffer.from(mark)].map((byte) => byte.toString(16).padStart(2, '0'));
	const escapes = [...mark].map((one) => one.charCodeAt(0).toString(16).padStart(4, '0'));
	return [
		{ as: 'in clear', text: mark.toLowerCase() },
		{ as: 'percent-encoded', text: bytes.map((byte) => `%${byte}`).join('') },
		{ as: 'quoted-printable', text: bytes.map((byte) => `=${byte}`).join('') },
		{ as: 'JSON-escaped', text: escapes.map((one) => `\\u${one}`).join('') },
		{ as: 'in hex', text: bytes.join('') },
	];
}

/** In each of the three places that a text may have within a group, less the characters that its neighbours have a part in. */
function base64Clothes(mark: string): Clothing[] {
	return [0, 1, 2].flatMap((shift) => {
		const whole = Buffer.from('\0'.repeat(shift) + mark).toString('base64url');
		const from = Math.ceil((shift * 8) / 6);
		const text = whole.slice(from, Math.floor(((shift + Buffer.byteLength(mark)) * 8) / 6));
		if (text.length < LEAST_BASE64) throw new Error(`The mark ${mark} is too short to be looked for.`);
		const standard = text.replaceAll('-', '+').replaceAll('_', '/');
		return [...new Set([text, standard])].map((one) => ({ as: 'in base64', text: one }));
	});
}
