/**
 * What a producer's answer other than `ok` means.
 * - `refused`: this message will never be taken
 * - `no-topic`: the topic is gone
 * - `closed`: the broker's producer is gone, as it is after its topic was deleted; a new connection tells
 * - `away`: anything else, such as a time-out of the broker's own
 */
export type Refusal = 'refused' | 'no-topic' | 'closed' | 'away';

/** The message itself: `send-error:3` its JSON, `:7` its base64; `:8` is everything else, told apart by its text alone. */
const UNREADABLE = new Set(['send-error:3', 'send-error:7']);
const REFUSED = /InvalidMessageException|exceeds \d+ bytes/;
const NO_TOPIC = /TopicDoesNotExistException|NotFoundException|TopicTerminatedException/;
const CLOSED = /AlreadyClosedException|already closed/;

/** Classifies an answer of the WebSocket API by its code and text. */
export function readRefusal(result: string, text: string): Refusal {
	if (UNREADABLE.has(result) || REFUSED.test(text)) return 'refused';
	if (NO_TOPIC.test(text)) return 'no-topic';
	return CLOSED.test(text) ? 'closed' : 'away';
}
