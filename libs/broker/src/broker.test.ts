import { expect, test } from '@jest/globals';
import { lastTopicOf, originOf } from './broker.js';

const origin = (topic: string, id: string) => originOf({ properties: { REAL_TOPIC: topic, ORIGIN_MESSAGE_ID: id } });

test('the origin of a dead letter has neither namespace nor partition, and its id has the form of every driver', () => {
	expect(origin('persistent://public/default/mail-send-bulk', '30:0:-1')).toEqual({ topic: 'mail-send-bulk', messageId: '30:0:-1' });
	expect(origin('persistent://public/default/mail-send-bulk-partition-2', '42:0:2')).toEqual({
		topic: 'mail-send-bulk',
		messageId: '42:0:2',
	});
	expect(origin('mail-send-bulk', '(30,0,-1,-1)')).toEqual({ topic: 'mail-send-bulk', messageId: '30:0:-1' });
});

test('a message that names no origin has none', () => {
	expect(originOf({ properties: {} })).toBeNull();
	expect(originOf({ properties: { REAL_TOPIC: 'mail-send-bulk' } })).toBeNull();
});

test('what comes too often goes to the dead-letter topic, and from there nowhere', () => {
	expect(lastTopicOf('mail-send-bulk')).toBe('mail-send-bulk-DLQ');
	expect(lastTopicOf('mail-send-bulk-DLQ')).toBeNull();
});
