import { expect, test } from '@jest/globals';
import { errorKind } from './error-kind.js';

test.each([
	['Failed to create producer: TopicNotFound', 'no-topic'],
	['Failed to send message: MessageTooBig', 'refused'],
	['Failed to send message: InvalidMessage', 'refused'],
	['Failed to send message: TimeOut', 'unreachable'],
	['Failed to create producer: ConnectError', 'unreachable'],
	['Failed to create consumer: AuthenticationError', 'unreachable'],
	['Failed to get partitions: ResultDisconnected', 'unreachable'],
	['Failed to receive message: AlreadyClosed', 'failed'],
	['Failed to send message: ProducerQueueIsFull', 'failed'],
	['Failed to create producer: AuthorizationError', 'failed'],
	['an error about TimeOut of somebody else', 'failed'],
])('%p is %p', (text, kind) => {
	expect(errorKind(new Error(text))).toBe(kind);
	expect(errorKind(text)).toBe(kind);
});
