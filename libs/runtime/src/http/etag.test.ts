import { expect, test } from '@jest/globals';
import { etagOf, refuseStale, requireIfMatch } from './etag.js';

const given = (ifMatch?: string) => ({ headers: { 'if-match': ifMatch } });

test.each(['"3"', '*', ' "3" ', '"1", "3"', 'W/"1","3"'])('%s matches the third state', (text) => {
	requireIfMatch(given(text));
	refuseStale(given(text), 3);
});

test.each(['"2"', 'W/"3"', '"33"', '""'])('%s does not match the third state', (text) => {
	requireIfMatch(given(text));
	expect(() => refuseStale(given(text), 3)).toThrow(expect.objectContaining({ code: 'precondition-failed' }));
});

test.each(['3', '', '"3', '"3" "4"', '*, "3"', '"a b"'])('%j cannot be read', (text) => {
	expect(() => requireIfMatch(given(text))).toThrow(expect.objectContaining({ code: 'malformed-request' }));
});

test('a change that names no state is refused', () => {
	expect(() => requireIfMatch(given())).toThrow(expect.objectContaining({ code: 'precondition-required' }));
	expect(etagOf(3)).toBe('"3"');
});
