import { expect, test } from '@jest/globals';
import { Problem } from '@tidings/model';
import { type TSchema, Type } from 'typebox';
import { createValidatorCompiler } from './validate.js';

const closed = { additionalProperties: false } as const;
const Mailbox = Type.Union([
	Type.String({ maxLength: 8 }),
	Type.Object({ address: Type.String(), label: Type.Optional(Type.String()) }, closed),
]);
const Thing = Type.Object(
	{
		name: Type.String({ minLength: 1, maxLength: 5 }),
		to: Type.Optional(Type.Array(Mailbox, { maxItems: 3 })),
		colour: Type.Optional(Type.Enum(['red', 'blue'])),
		size: Type.Optional(Type.Integer({ minimum: 1, default: 3 })),
	},
	{ $id: 'Thing', ...closed },
);
const compile = createValidatorCompiler([Thing]);

type Part = 'body' | 'querystring' | 'params';
function refusalOf(value: unknown, schema: TSchema = Type.Ref('Thing'), httpPart: Part = 'body'): Problem | null {
	const checked: unknown = compile({ schema, httpPart, method: 'POST', url: '/' })(value);
	if (checked === true) return null;
	const { error } = checked as { error: unknown };
	if (!(error instanceof Problem)) throw new Error('not refused by a problem');
	return error;
}
const pointers = (problem: Problem | null): string[] | undefined => problem?.faults.map((one) => `${one.code} ${one.pointer}`).sort();

test('a right value passes as it is: nothing is converted, filled in or removed', () => {
	const value = { name: 'a' };
	expect(refusalOf(value)).toBeNull();
	expect(value).toEqual({ name: 'a' });
	expect(pointers(refusalOf({ name: 5, size: '1' }))).toEqual(['wrong-type /name', 'wrong-type /size']);
	expect(pointers(refusalOf([]))).toEqual(['wrong-type ']);
});

test('every fault of a body is named at once, each at its pointer', () => {
	const problem = refusalOf({
		to: ['a', 5, 'much too long', { label: 'x', odd: 1 }],
		colour: 'green',
		size: 0,
		'a/b~c': 1,
	});
	expect(problem?.code).toBe('invalid-request');
	expect(pointers(problem)).toEqual([
		'not-one-of /colour',
		'out-of-range /size',
		'required /name',
		'required /to/3/address',
		'too-long /to/2',
		'too-many /to',
		'unknown-field /a~1b~0c',
		'unknown-field /to/3/odd',
		'wrong-type /to/1',
	]);
	const detail = (pointer: string): string | undefined => problem?.faults.find((one) => one.pointer === pointer)?.detail;
	expect(detail('/to/1')).toBe('`to[1]` must be a string or an object.');
	expect(detail('/colour')).toBe('`colour` must be `red` or `blue`.');
	expect(detail('/name')).toBe('`name` is missing.');
});

test('lengths are counted in UTF-16 code units', () => {
	expect(refusalOf({ name: '😀😀a' })).toBeNull();
	expect(pointers(refusalOf({ name: '😀😀😀' }))).toEqual(['too-long /name']);
});

test('__proto__ is an unknown field and changes no prototype', () => {
	const value: unknown = JSON.parse('{"name":"a","__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
	expect(pointers(refusalOf(value))).toEqual(['unknown-field /__proto__', 'unknown-field /constructor']);
	expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test('nesting deeper than any schema goes is malformed, where it is refused at all', () => {
	let value: unknown = 1;
	for (let depth = 0; depth < 10_000; depth += 1) value = [value];
	expect(refusalOf({ name: 'a', deep: value })?.code).toBe('malformed-request');
});

test('a body with very many values is answered with its first fault', () => {
	const huge = refusalOf({ name: 'a', to: Array.from({ length: 150_000 }, () => 1) });
	expect(huge?.faults).toHaveLength(1);
	expect(huge?.message).toContain('too large to look for more');
});

test('thousands of faults are all found', () => {
	const many = Type.Object({ to: Type.Array(Mailbox) });
	expect(refusalOf({ to: Array.from({ length: 9_000 }, () => 0) }, many)?.faults).toHaveLength(9_000);
});

test('a missing body is malformed unless the body is optional', () => {
	expect(refusalOf(null)?.code).toBe('malformed-request');
	expect(refusalOf(null, Type.Object({}, { 'x-optional': true }))).toBeNull();
});

test('a wrong query is malformed and names its fields, a wrong path names nothing', () => {
	const query = refusalOf({ nme: 'MARK' }, Type.Object({}, closed), 'querystring');
	expect([query?.code, query?.message]).toEqual(['malformed-request', 'The query is refused. `nme`: There is no such field here.']);
	const Limit = Type.Object({ limit: Type.String({ pattern: '^[1-9]$', 'x-form': 'a digit but 0' }) }, closed);
	expect(refusalOf({ limit: 'abc' }, Limit, 'querystring')?.message).toBe('The query is refused. `limit` must be a digit but 0.');
	expect(refusalOf({ limit: ['1', '2'] }, Limit, 'querystring')?.message).toBe(
		'The query is refused. `limit` stands more than once: give it once.',
	);
	const path = refusalOf({ id: 'x' }, Type.Object({ id: Type.String({ format: 'uuid' }) }), 'params');
	expect(path?.code).toBe('not-found');
});

test('a body with very many values is answered with its first fault also where a union is what fails', () => {
	const problem = refusalOf(
		{ name: 'a', to: [1, ...Array.from({ length: 20_000 }, () => 'x')] },
		Type.Object({ name: Type.String(), to: Type.Array(Mailbox) }),
	);
	expect(problem?.faults).toMatchObject([{ pointer: '/to/0', code: 'wrong-type', detail: '`to[0]` must be a string or an object.' }]);
});
