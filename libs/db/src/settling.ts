import type { Category, Stage } from '@tidings/model';

/** What one try at a provider came to, as the attempt row keeps it. */
export type AttemptRow = {
	readonly provider: string;
	readonly worker: string;
	readonly publishedAt: Date | null;
	readonly startedAt: Date;
	readonly outcome: 'ACCEPTED' | 'PARTIAL' | 'REFUSED' | 'AMBIGUOUS' | 'UNKNOWN';
	readonly ambiguous: boolean;
	readonly category: Category | null;
	readonly stage: Stage | null;
	readonly code: string | null;
	readonly enhancedCode: string | null;
	readonly text: string | null;
	readonly providerMessageId: string | null;
};

/** What became of one recipient. `OPEN`: it will be tried again, or the budget ended it; the answer is kept for people to read. */
export type RecipientRow = {
	readonly n: number;
	readonly outcome: 'OPEN' | 'ACCEPTED' | 'REFUSED';
	readonly category: Category | null;
	readonly stage: Stage | null;
	readonly code: string | null;
	readonly enhancedCode: string | null;
	readonly text: string | null;
};

/** One record's settlement: the fence it was claimed under, where it goes, and what is kept about the attempt. */
export type Settlement = {
	readonly id: string;
	readonly tenantId: string;
	readonly configId: string;
	readonly attemptNo: number;
	readonly version: number;
	/** RETRY becomes EXPIRED when it would come too late. */
	readonly to: 'SENT' | 'RETRY' | 'FAILED' | 'DEAD_LETTER' | 'HELD';
	readonly delaySeconds: number;
	/** Whether the attempt burns budget; a wait burns none. */
	readonly burns: boolean;
	readonly waits: boolean;
	/** Some recipients were accepted and some were not, all attempts together. */
	readonly partial: boolean;
	readonly attempt: AttemptRow;
	readonly recipients: readonly RecipientRow[];
};

/** How a settlement ended: where the record is now, what the publishers need to be told, and whether a dead letter was opened. */
export type Settled = {
	readonly id: string;
	readonly status: string;
	readonly dueAt: Date | null;
	readonly flowId: string;
	readonly lettered: boolean;
};
