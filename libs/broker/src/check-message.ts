import { MAX_PAYLOAD_BYTES, type OutgoingMessage, type PublishResult } from './broker.js';

const TOO_LARGE: PublishResult = { kind: 'refused', reason: `the payload is larger than ${MAX_PAYLOAD_BYTES} bytes` };
const NO_UNICODE: PublishResult = { kind: 'refused', reason: 'a property is no well-formed Unicode text' };

/** The refusal of a message that no broker would carry as it is; null when there is nothing against it. */
export function refusalOf({ payload, properties }: OutgoingMessage): PublishResult | null {
	if (payload.byteLength > MAX_PAYLOAD_BYTES) return TOO_LARGE;
	for (const key in properties) if (!key.isWellFormed() || properties[key]?.isWellFormed() === false) return NO_UNICODE;
	return null;
}
