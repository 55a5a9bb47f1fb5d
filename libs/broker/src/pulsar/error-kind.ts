import { textOf } from '../error-text.js';

/**
 * What an error of the official client means.
 * - `no-topic`: the topic does not exist and the broker makes none by itself
 * - `refused`: this message will never be taken
 * - `unreachable`: the broker did not answer, or lets nobody in
 * - `failed`: this act failed while the broker may well be there
 */
export type ErrorKind = 'no-topic' | 'refused' | 'unreachable' | 'failed';

const KINDS: Readonly<Record<string, ErrorKind>> = {
	TopicNotFound: 'no-topic',
	MessageTooBig: 'refused',
	InvalidMessage: 'refused',
	TimeOut: 'unreachable',
	ConnectError: 'unreachable',
	NotConnected: 'unreachable',
	ReadError: 'unreachable',
	Disconnected: 'unreachable',
	Retryable: 'unreachable',
	AuthenticationError: 'unreachable',
	ErrorGettingAuthenticationData: 'unreachable',
};

/** Classifies by the name at the end of the text, for the client gives no codes. A name that is not known is `failed`. */
export function errorKind(error: unknown): ErrorKind {
	return KINDS[nameOf(error)] ?? 'failed';
}

/** The name at the end of the client's text, such as `TimeOut` of `Failed to create producer: TimeOut`. */
export function nameOf(error: unknown): string {
	const text = textOf(error);
	return text
		.slice(text.lastIndexOf(': ') + 1)
		.trim()
		.replace(/^Result/, ''); // some names carry it, most do not
}
