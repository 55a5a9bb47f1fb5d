/** What the list shows of a mail. All texts are decoded and come from the mail: they are data, never markup. */
export type MailSummary = {
	/** UUIDv7: ids sort by arrival. */
	id: string;
	/** The header's sender as text (`"Name" <address>`); the envelope's address when the header has none. */
	from: string;
	/** The envelope's recipients, so blind copies are among them. */
	to: string[];
	/** The decoded subject, empty when there is none. */
	subject: string;
	/** ISO 8601, UTC. */
	receivedAt: string;
	/** With its angle brackets; empty when there is none. */
	messageId: string;
	/** Bytes as received. */
	size: number;
	/** The envelope's sender, empty for a bounce. */
	envelopeFrom: string;
};

/** Narrows what a line of the index says; undefined for anything but a whole summary. */
export function parseSummary(line: string): MailSummary | undefined {
	try {
		const value: Partial<Record<keyof MailSummary, unknown>> = JSON.parse(line);
		const texts = [value.id, value.from, value.subject, value.receivedAt, value.messageId, value.envelopeFrom];
		const isWhole = texts.every((text) => typeof text === 'string') && Array.isArray(value.to) && typeof value.size === 'number';
		return isWhole ? (value as MailSummary) : undefined;
	} catch {
		return undefined;
	}
}
