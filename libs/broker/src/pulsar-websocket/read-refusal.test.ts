import { expect, test } from '@jest/globals';
import { readRefusal } from './read-refusal.js';

const client = 'org.apache.pulsar.client.api.PulsarClientException';

test.each([
	['send-error:3', "Unexpected character ('n' (code 110))", 'refused'],
	['send-error:7', 'Invalid Base64 message-payload error=Input byte[] should at least have 2 bytes for base64 bytes', 'refused'],
	[
		'send-error:8',
		`${client}$InvalidMessageException: The producer p of the topic t sends a message with 5242910 bytes that exceeds 5242880 bytes`,
		'refused',
	],
	['send-error:8', `${client}$TopicDoesNotExistException: Topic t does not exist`, 'no-topic'],
	[
		'send-error:8',
		`${client}$AlreadyClosedException: The producer p of the topic t was already closed when closing the producers`,
		'closed',
	],
	['send-error:8', `${client}$AlreadyClosedException: Producer already closed`, 'closed'],
	['send-error:8', `${client}$TimeoutException: The producer p can not send message to the topic t within given timeout`, 'away'],
	// The topic's matter, not the message's: it may pass once somebody has mended the topic.
	['send-error:8', `${client}$IncompatibleSchemaException: Incompatible schema exception`, 'away'],
	['send-error:8', `${client}$ProducerQueueIsFullError: Producer send queue is full`, 'away'],
	['send-error:6', 'not authorized', 'away'],
	['something new', '', 'away'],
])('the answer %s with the text %s means %s', (result, text, meaning) => {
	expect(readRefusal(result, text)).toBe(meaning);
});
