/** Stands for what a shown list or object leaves out, and for a shown value that may be anything. */
const REST = '\0rest';
const ANYTHING = '\0anything';

/**
 * What of `actual` is not as `shown` says, one sentence each. `shown` is JSON in which `…` stands for anything: in a text for some characters, instead of a
 * value for any value, and in a list or an object for whatever more it has; without one it has no more.
 */
export function mismatchesOfJson(shown: string, actual: unknown): string[] {
	return compare(JSON.parse(fillGaps(shown)), actual, 'the answer');
}

/** Whether a text is as shown; `…` stands for any characters. */
export function fitsText(shown: string, actual: string): boolean {
	const parts = shown.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
	return new RegExp(`^${parts.join('.*')}$`, 's').test(actual);
}

/** Makes JSON out of it: a gap outside of texts becomes an entry that says so. */
function fillGaps(shown: string): string {
	const closers: string[] = [];
	let before = '';
	return shown.replaceAll(/"(?:[^"\\]|\\.)*"|\s+|./gsu, (token) => {
		if (token.trim() === '') return token;
		const filled = token === '…' ? gapFor(before, closers.at(-1)) : token;
		if (token === '{' || token === '[') closers.push(token);
		if (token === '}' || token === ']') closers.pop();
		before = token;
		return filled;
	});
}

function gapFor(before: string, opener: string | undefined): string {
	if (before === ':') return JSON.stringify(ANYTHING);
	return opener === '{' ? `${JSON.stringify(REST)}:0` : JSON.stringify(REST);
}

function compare(shown: unknown, actual: unknown, where: string): string[] {
	if (shown === ANYTHING) return [];
	if (Array.isArray(shown) && Array.isArray(actual)) return compareLists(shown, actual, where);
	if (isObject(shown) && isObject(actual)) return compareObjects(shown, actual, where);
	if (typeof shown === 'string' && typeof actual === 'string' && fitsText(shown, actual)) return [];
	return shown === actual ? [] : [`${where} is ${JSON.stringify(actual)} and not ${JSON.stringify(shown)}`];
}

function compareLists(shown: readonly unknown[], actual: readonly unknown[], where: string): string[] {
	const named = shown.filter((one) => one !== REST);
	const more = actual.length > named.length && named.length === shown.length ? [`${where} has ${actual.length} entries`] : [];
	return [...more, ...named.flatMap((one, index) => compare(one, actual[index], `${where}[${index}]`))];
}

function compareObjects(shown: Record<string, unknown>, actual: Record<string, unknown>, where: string): string[] {
	const more = REST in shown ? [] : Object.keys(actual).filter((name) => !(name in shown));
	const named = Object.keys(shown).filter((name) => name !== REST);
	return [
		...more.map((name) => `${where} also has ${name}`),
		...named.flatMap((name) => (name in actual ? compare(shown[name], actual[name], `${where}.${name}`) : [`${where} has no ${name}`])),
	];
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}
