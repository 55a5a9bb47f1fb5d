import { decodeEnvelope } from '@tidings/model';

/** A message that nobody could process, made fit to be archived whatever its bytes are. */
export type PoisonMessage = {
	/** Where it was published, and the id that it had there: by these two it is archived once. */
	readonly topic: string;
	readonly messageId: string;
	/** Why it is here, and what of the envelope could not be kept. */
	readonly reason: string;
	/** The payload as text, at most `ENVELOPE_CHARACTERS`. */
	readonly envelope: string;
	/** What the envelope says; null when it cannot be read. It is believed only as far as there is such a record. */
	readonly recordId: string | null;
	readonly tenantId: string | null;
	readonly traceId: string | null;
};

/** How much of a payload is kept, in UTF-16 code units. A right envelope takes less than 200. */
const ENVELOPE_CHARACTERS = 10_000;
/** No character takes more bytes in UTF-8. */
const BYTES_PER_CHARACTER = 4;

/** Control characters but for tab, CR and LF: Postgres refuses NUL, and a terminal obeys the others. */
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
/** A cut may leave half a character. */
const HALF = /\p{Surrogate}/gu;

/** Reads a poison message. Only what is kept is held on to, so that many payloads of 5 MB cost no memory. */
export function readPoison(message: { topic: string; messageId: string; reason: string; payload: Uint8Array }): PoisonMessage {
	const { topic, messageId, payload } = message;
	const read = decodeEnvelope(payload);
	const text = new TextDecoder().decode(payload.subarray(0, ENVELOPE_CHARACTERS * BYTES_PER_CHARACTER));
	const isCut = payload.byteLength > ENVELOPE_CHARACTERS * BYTES_PER_CHARACTER || text.length > ENVELOPE_CHARACTERS;
	const envelope = text.slice(0, ENVELOPE_CHARACTERS).replace(CONTROL, ' ').replace(HALF, '\ufffd');
	const notes = [
		...(isCut ? [`the envelope is cut: it had ${payload.byteLength} bytes`] : []),
		...(envelope.includes('\ufffd') ? ['what is not UTF-8 in the envelope stands as \ufffd'] : []),
	];
	const ids = typeof read === 'string' ? { recordId: null, tenantId: null, traceId: null } : read;
	return { topic, messageId, reason: [message.reason, ...notes].join('; '), envelope, ...ids };
}
