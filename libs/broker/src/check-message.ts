import { MAX_PAYLOAD_BYTES, type OutgoingMessage, type PublishResult } from './broker.js';

const TOO_LARGE: PublishResult = { kind: 'refused', reason: `payload and properties are larger than ${MAX_PAYLOAD_BYTES} bytes` };
const NO_UNICODE: PublishResult = { kind: 'refused', reason: 'a property is no well-formed Unicode text' };

/** The refusal of a message that no broker would carry as it is; null when there is nothing against it. */
export function refusalOf({ payload, properties }: OutgoingMessage): PublishResult | null {
	let bytes = payload.byteLength;
	for (const [key, value] of Object.entries(properties)) {
		if (!key.isWellFormed() || !value.isWellFormed()) return NO_UNICODE;
		bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
	}
	return bytes > MAX_PAYLOAD_BYTES ? TOO_LARGE : null;
}
