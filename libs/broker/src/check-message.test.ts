import { expect, test } from '@jest/globals';
import { MAX_PAYLOAD_BYTES } from './broker.js';
import { refusalOf } from './check-message.js';

const message = (bytes: number, properties: Record<string, string> = {}) => ({ topic: 't', payload: new Uint8Array(bytes), properties });

test('a payload is refused from one byte over the limit on', () => {
	expect(refusalOf(message(MAX_PAYLOAD_BYTES))).toBeNull();
	expect(refusalOf(message(MAX_PAYLOAD_BYTES + 1))).toEqual({
		kind: 'refused',
		reason: expect.stringContaining(String(MAX_PAYLOAD_BYTES)),
	});
});

test('properties count, by their bytes, so that no frame is too large for a connection', () => {
	expect(refusalOf(message(MAX_PAYLOAD_BYTES - 7, { ключ: '' }))).toEqual({
		kind: 'refused',
		reason: expect.stringContaining('properties'),
	});
	expect(refusalOf(message(MAX_PAYLOAD_BYTES - 8, { ключ: '' }))).toBeNull();
});

test('half a character in a property is refused, for it would arrive as another one', () => {
	expect(refusalOf(message(1, { 'ключ 🙂': '你好 👩‍💻' }))).toBeNull();
	expect(refusalOf(message(1, { key: '\ud83d' }))).toEqual({ kind: 'refused', reason: expect.stringContaining('Unicode') });
	expect(refusalOf(message(1, { '\ude42': 'value' }))).toEqual({ kind: 'refused', reason: expect.stringContaining('Unicode') });
});
