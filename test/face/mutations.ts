import fc from 'fast-check';

/** A value that does not belong where it is put. Big ones are named, so that a report stays short. */
type Junk = { readonly name: string; readonly value: unknown };

const junk = (name: string, value: unknown): Junk => ({ name, value });

/** An own property `__proto__`, as a parser of JSON makes it. */
const PROTO: unknown = JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}');

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
	let value: unknown = 'x';
	for (let at = 0; at < depth; at += 1) value = wrap(value);
	return value;
}

const JUNK: readonly Junk[] = [
	...[null, true, false, 0, -0, -1, 1, 1.5, 2 ** 31, 2 ** 53, 1e308, -1e308, 5e-324].map((value) => junk(String(value), value)),
	...[
		'',
		' ',
		'0',
		'true',
		'null',
		'[]',
		'\t',
		'\n',
		'a\r\nBcc: x@example.com',
		'a\u2028b',
		'\u0000',
		'a\u0000b',
		'\u0001\u001f',
		'\u007f',
		'\u0085',
	].map((value) => junk(JSON.stringify(value), value)),
	...['\ud800', 'a\udfffb', '\ufeff', '\u202e', '%00', '../../etc/passwd', "' or '1'='1", '${jndi:ldap://x}', '=?utf-8?q?=41?='].map(
		(value) => junk(JSON.stringify(value), value),
	),
	...['9999-99-99T99:99:99Z', '2026-02-30T00:00:00Z', '2026-11-30T10:00:00', '+275760-09-13T00:00:00.001Z', '0000-01-01T00:00:00Z'].map(
		(value) => junk(value, value),
	),
	...[
		'00000000-0000-0000-0000-000000000000',
		'urn:uuid:01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11',
		'a@b',
		'a@b.c, d@e.f',
		'"a b"@example.com',
	].map((value) => junk(value, value)),
	junk('300 letters', 'x'.repeat(300)),
	junk('70,000 letters', 'x'.repeat(70_000)),
	junk('1,100,000 letters', 'x'.repeat(1_100_000)),
	junk('20,000 tabs', `a${'\t'.repeat(20_000)}a`),
	junk('empty list', []),
	junk('empty object', {}),
	junk('list of lists', [[[]]]),
	junk(
		'501 nulls',
		Array.from({ length: 501 }, () => null),
	),
	junk(
		'501 texts',
		Array.from({ length: 501 }, (_, at) => `a${at}@example.com`),
	),
	junk(
		'20,000 numbers',
		Array.from({ length: 20_000 }, (_, at) => at),
	),
	junk(
		'70 lists deep',
		nested(70, (inner) => [inner]),
	),
	junk(
		'70 objects deep',
		nested(70, (inner) => ({ a: inner })),
	),
	junk('own __proto__', PROTO),
	junk('5,000 fields', Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`f${at}`, at]))),
	junk('field of NUL', { '\u0000': 'x', '\ud800': 'y' }),
	junk('field names', { toString: 'x', hasOwnProperty: 1, length: -1, '': 1, 'a/b~c': 2 }),
];

const NAMES = [
	'tenantId',
	'id',
	'__proto__',
	'constructor',
	'toString',
	'',
	'a/b~0',
	'\u0000',
	'\ud800',
	'x'.repeat(5_000),
	'status',
	'$ref',
];

/** One change of a body: at the place that `where` names among all its places, the value is put, taken away, or a field added. */
type Mutation = { readonly where: number; readonly act: 'put' | 'drop' | 'add' | 'repeat'; readonly junk: Junk; readonly name: string };

const mutation: fc.Arbitrary<Mutation> = fc.record({
	where: fc.nat({ max: 10_000 }),
	act: fc.constantFrom('put', 'put', 'put', 'drop', 'add', 'repeat'),
	junk: fc.constantFrom(...JUNK),
	name: fc.constantFrom(...NAMES),
});

/** Bodies with one to three mutations. */
export function mutated(bodies: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
	return fc.tuple(bodies, fc.array(mutation, { minLength: 1, maxLength: 3 })).map(([body, mutations]) => {
		// The body itself is a place too: it stands in a holder.
		const holder = { body: structuredClone(body) };
		for (const one of mutations) apply(holder, one);
		return holder.body;
	});
}

type Place = { readonly holder: Record<string, unknown> | unknown[]; readonly key: string };

function apply(holder: { body: unknown }, { where, act, junk, name }: Mutation): void {
	// A copy, since a further mutation may change it.
	const value = structuredClone(junk.value);
	const places = placesIn(holder);
	const place = places[where % places.length];
	if (place === undefined) return;
	const at = place.holder as Record<string, unknown>;
	const { key } = place;
	const there = at[key];
	if (act === 'drop' && at !== (holder as object)) {
		if (Array.isArray(at)) at.splice(Number(key), 1);
		else delete at[key];
	} else if (act === 'repeat' && Array.isArray(there) && JSON.stringify(there).length < 5_000)
		at[key] = Array.from({ length: 501 }, (_, index) => there[index % (there.length || 1)]);
	else if (act === 'add' && typeof there === 'object' && there !== null && !Array.isArray(there)) {
		Object.defineProperty(there, name, { value, enumerable: true, configurable: true, writable: true });
	} else at[key] = value;
}

function placesIn(root: object): Place[] {
	const places: Place[] = [];
	const walk = (holder: object, depth: number): void => {
		// Junk that is large is not looked into.
		for (const key of Object.keys(holder).slice(0, 50)) {
			places.push({ holder: holder as Record<string, unknown>, key });
			const inner = (holder as Record<string, unknown>)[key];
			if (typeof inner === 'object' && inner !== null && depth < 8) walk(inner, depth + 1);
		}
	};
	walk(root, 0);
	return places;
}

const bytes = (...list: number[]): Buffer => Buffer.from(list);

/** Bodies that are no JSON, or not as it should be sent, by name. */
export const RAW_BODIES: Readonly<Record<string, () => Buffer>> = {
	'not JSON': () => Buffer.from('not JSON'),
	'a form': () => Buffer.from('to=ann%40example.com&subject=x'),
	nothing: () => Buffer.alloc(0),
	'a space': () => Buffer.from(' '),
	'a BOM before an object': () => Buffer.from('\ufeff{}'),
	'half a character': () => bytes(0x7b, 0x22, 0xc3),
	'overlong UTF-8': () => bytes(0x22, 0xc0, 0x80, 0x22),
	'a surrogate in UTF-8': () => bytes(0x22, 0xed, 0xa0, 0x80, 0x22),
	'UTF-16': () => Buffer.from('{"a":1}', 'utf16le'),
	gzip: () => bytes(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3),
	'a list': () => Buffer.from('[]'),
	null: () => Buffer.from('null'),
	'a text': () => Buffer.from('"text"'),
	'a number': () => Buffer.from('1e400'),
	'two objects': () => Buffer.from('{}{}'),
	NaN: () => Buffer.from('{"a":NaN}'),
	'a field twice': () => Buffer.from('{"name":"a","name":"b","note":1,"note":"x"}'),
	NUL: () => bytes(0),
	'NUL in a text, unescaped': () => bytes(0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0, 0x22, 0x7d),
	'a comment': () => Buffer.from('{/* */}'),
	'a proto': () => Buffer.from('{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}'),
	'a hundred thousand lists': () => Buffer.from('['.repeat(100_000)),
	'ten thousand objects deep': () => Buffer.from(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`),
	'a megabyte of spaces': () => Buffer.alloc(1_000_000, 0x20),
	'a megabyte of text': () => Buffer.from(`{"name":"${'x'.repeat(1_000_000)}","note":"${'y'.repeat(10_000)}"}`),
	'a number of many digits': () => Buffer.from(`{"port":${'9'.repeat(100_000)}}`),
};
