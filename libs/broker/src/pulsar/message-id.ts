const CLIENT_TEXT = /^\((-?\d+),(-?\d+),(-?\d+),(-?\d+)\)$/;

/** Pulsar's own text of an id, `ledger:entry:partition`, of the official client's `(ledger,entry,partition,batchIndex)`; a fourth part names the message within a batch. Another text stays as it is. */
export function messageIdText(text: string): string {
	const [, ledger, entry, partition, batchIndex] = CLIENT_TEXT.exec(text) ?? [];
	if (ledger === undefined || batchIndex === undefined) return text;
	const id = `${ledger}:${entry}:${partition}`;
	return Number(batchIndex) < 0 ? id : `${id}:${batchIndex}`;
}
