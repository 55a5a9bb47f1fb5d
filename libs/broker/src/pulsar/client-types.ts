/**
 * The part of the package `pulsar-client` 1.18.0 that the driver uses, described here because the package is optional: its own types are not there where it is not.
 * `client-types.test.ts` compares them wherever the package is installed.
 */
export type PulsarModule = {
	readonly Client: {
		new (config: ClientConfig): PulsarClient;
		/** One for the whole process. */
		setLogHandler(handler: (level: number, file: string, line: number, message: string) => void): void;
	};
	readonly AuthenticationToken: new (params: { token: string }) => object;
};

/** Times are in the unit of their name. */
export type ClientConfig = {
	readonly serviceUrl: string;
	readonly authentication?: object;
	readonly operationTimeoutSeconds: number;
	readonly connectionTimeoutMs: number;
	/** False by default in the package. */
	readonly tlsValidateHostname: boolean;
	/** 0 DEBUG, 1 INFO, 2 WARN, 3 ERROR. */
	readonly logLevel: number;
	/** 0: no statistics in the log. */
	readonly statsIntervalInSeconds: number;
};

/** A connection to the broker. It must stay referenced: what it made is closed when it is collected. Its errors are texts that end in a name, such as `Failed to create producer: TimeOut`. */
export type PulsarClient = {
	createProducer(config: ProducerConfig): Promise<PulsarProducer>;
	subscribe(config: ConsumerConfig): Promise<PulsarConsumer>;
	getPartitionsForTopic(topic: string): Promise<readonly string[]>;
	close(): Promise<unknown>;
};

/** How a producer is made. `topic` is the full name. */
export type ProducerConfig = {
	readonly topic: string;
	/** 0 is ignored. */
	readonly sendTimeoutMs: number;
	readonly maxPendingMessages: number;
	/** True would block the whole process. */
	readonly blockIfQueueFull: false;
	readonly batchingEnabled: false;
	readonly hashingScheme: 'Murmur3_32Hash';
};

/** A producer connects again by itself; its sends wait meanwhile, at most `sendTimeoutMs`. */
export type PulsarProducer = {
	/** `data` must be a Buffer: a text would be sent as nothing. */
	send(message: { data: Buffer; properties: { [name: string]: string } }): Promise<unknown>;
	isConnected(): boolean;
	close(): Promise<unknown>;
};

/** How a consumer is made. `topic` is the full name. The client's own dead-letter policy is not used. */
export type ConsumerConfig = {
	readonly topic: string;
	readonly subscription: string;
	readonly subscriptionType: 'Shared';
	readonly subscriptionInitialPosition: 'Earliest';
	/** At least 100. */
	readonly nAckRedeliverTimeoutMs: number;
	/** How many messages wait in this process to be received. */
	readonly receiverQueueSize: number;
};

/** A consumer connects again by itself; what it held comes again then. */
export type PulsarConsumer = {
	/** Without a time-out it blocks no thread; it rejects with `AlreadyClosed` when the consumer closes. */
	receive(): Promise<PulsarMessage>;
	/** Resolves when the ack is queued in this process, which is not when the broker has it. */
	acknowledge(message: PulsarMessage): Promise<unknown>;
	negativeAcknowledge(message: PulsarMessage): void;
	isConnected(): boolean;
	close(): Promise<unknown>;
};

/** A received message. */
export type PulsarMessage = {
	getData(): Buffer;
	/** An array that has the names as further properties. */
	getProperties(): { [name: string]: string };
	/** As a text: `(ledger,entry,partition,batchIndex)`. */
	getMessageId(): { toString(): string };
	getRedeliveryCount(): number;
};
