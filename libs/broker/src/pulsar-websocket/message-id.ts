/** The fields of Pulsar's MessageIdData that name a message; both of the last two are -1 when they are not there. */
const LEDGER = 1;
const ENTRY = 2;
const PARTITION = 3;
const BATCH_INDEX = 4;

const WIRE_VARINT = 0;
const WIRE_BYTES = 2;

/**
 * Pulsar's own text of an id that the WebSocket API gives as base64 of protobuf: `ledger:entry:partition`, the form that `ORIGIN_MESSAGE_ID` has, too.
 * A message within a batch, which only other producers make, has its index as a fourth part. Throws when it is no such id.
 */
export function messageIdText(base64: string): string {
	const numbers = readNumbers(Buffer.from(base64, 'base64'));
	const ledger = numbers.get(LEDGER);
	const entry = numbers.get(ENTRY);
	if (ledger === undefined || entry === undefined) throw new Error(`no message id of Pulsar: ${base64.slice(0, 100)}`);
	const id = `${ledger}:${entry}:${numbers.get(PARTITION) ?? -1n}`;
	const batchIndex = numbers.get(BATCH_INDEX) ?? -1n;
	return batchIndex < 0n ? id : `${id}:${batchIndex}`;
}

/** The numbers of a protobuf message by their field. */
function readNumbers(bytes: Uint8Array): Map<number, bigint> {
	const numbers = new Map<number, bigint>();
	let at = 0;
	const varint = (): bigint => {
		let value = 0n;
		for (let shift = 0n; shift < 70n; shift += 7n) {
			const byte = bytes[at++];
			if (byte === undefined) throw new Error('a message id of Pulsar ends in the middle of a number');
			value |= BigInt(byte & 0x7f) << shift;
			if (byte < 0x80) return BigInt.asIntN(64, value); // negative ones are written as 64 bits
		}
		throw new Error('a message id of Pulsar holds an endless number');
	};
	while (at < bytes.length) {
		const tag = Number(varint());
		if ((tag & 7) === WIRE_VARINT) numbers.set(tag >> 3, varint());
		else if ((tag & 7) === WIRE_BYTES) {
			const length = Number(varint());
			at += length;
		} else throw new Error('a message id of Pulsar holds a field of an unknown kind');
	}
	return numbers;
}
