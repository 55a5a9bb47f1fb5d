import { messageIdText } from './message-id.js';

/** A message as the WebSocket API delivers it. */
export type DeliveredMessage = {
	/** The id that acks and nacks repeat; for nothing else. */
	readonly rawId: string;
	readonly id: string;
	readonly payload: Uint8Array;
	readonly properties: Readonly<Record<string, string>>;
	readonly redeliveryCount: number;
};

type Frame = {
	readonly messageId?: unknown;
	readonly payload?: string | null;
	readonly properties?: Readonly<Record<string, string>> | null;
	readonly redeliveryCount?: number;
};

/** Reads what came from a consumer's connection; null when it is an answer to something else. Throws when it cannot be read. */
export function readMessage(text: string): DeliveredMessage | null {
	const { messageId, payload, properties, redeliveryCount } = JSON.parse(text) as Frame;
	if (typeof messageId !== 'string') return null;
	return {
		rawId: messageId,
		id: messageIdText(messageId),
		payload: Buffer.from(payload ?? '', 'base64'),
		properties: properties ?? {},
		redeliveryCount: redeliveryCount ?? 0,
	};
}
