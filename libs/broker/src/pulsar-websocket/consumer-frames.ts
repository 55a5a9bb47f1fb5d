/** The frame that acks a message by the id that it was delivered with. It gets no answer. */
export function ackFrame(rawId: string): string {
	return JSON.stringify({ messageId: rawId });
}

/** The frame that lets a message come again after the consumer's delay. */
export function nackFrame(rawId: string): string {
	return JSON.stringify({ type: 'negativeAcknowledge', messageId: rawId });
}

/** The frame that lets so many messages more come. */
export function permitFrame(permits: number): string {
	return JSON.stringify({ type: 'permit', permitMessages: permits });
}
