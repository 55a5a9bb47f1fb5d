import { type IncomingMessage, lastTopicOf, type OutgoingMessage } from './broker.js';

/**
 * What goes to the dead-letter topic in place of a message that came too often, with the properties by which Pulsar's own clients say where it came from; null where there is no such topic.
 * `realTopic` is the name that the broker has for the message's topic.
 */
export function deadLetterCopy(
	{ id, topic, payload, properties }: Pick<IncomingMessage, 'id' | 'topic' | 'payload' | 'properties'>,
	subscription: string,
	realTopic: string,
): OutgoingMessage | null {
	const last = lastTopicOf(topic);
	if (last === null) return null;
	return {
		topic: last,
		payload,
		properties: { ...properties, REAL_TOPIC: realTopic, REAL_SUBSCRIPTION: subscription, ORIGIN_MESSAGE_ID: id },
	};
}
