import { expect, test } from '@jest/globals';
import { messageIdText } from './message-id.js';

test.each([
	['(40,0,-1,-1)', '40:0:-1'],
	['(40,12,3,-1)', '40:12:3'],
	['(40,12,3,0)', '40:12:3:0'],
	['40:0:-1', '40:0:-1'],
	['something else', 'something else'],
])('the id %p reads %p', (text, expected) => {
	expect(messageIdText(text)).toBe(expected);
});
