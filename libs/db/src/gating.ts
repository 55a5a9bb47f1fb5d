/** Why a gate is closed. `PAUSED` is a person's; `RATE` opens with its window; the others are a provider's no, and lead to one message at a time first. */
export const GATE_REASONS = ['RATE', 'AUTH', 'CONFIG', 'UNREACHABLE', 'QUOTA', 'PAUSED'] as const;
export type GateReason = (typeof GATE_REASONS)[number];

/** A provider's newest no, as people read it. */
export type GateError = {
	readonly at: string;
	readonly recordId: string | null;
	readonly category: string;
	readonly stage: string;
	readonly code: string | null;
	readonly enhancedCode: string | null;
	readonly text: string;
};

/** What a person reads as the reason for a closed gate. */
export function detailOf({ code, enhancedCode, text }: GateError): string {
	return [code, enhancedCode, text].filter((part) => part !== null && part !== '').join(' ');
}

/** A config's gate to be closed. */
export type GateClosing = {
	readonly configId: string;
	/** The version that the evidence is about: nothing is closed when the config has changed since. Null: whatever its version. */
	readonly version: number | null;
	readonly reason: Exclude<GateReason, 'PAUSED'>;
	/** For people: at most 1,000 characters, without secrets. */
	readonly detail: string;
	/** When it opens by itself; null: when a probe succeeds. */
	readonly seconds: number | null;
	readonly error: GateError | null;
};

/** How long the first probe waits, in seconds: each failure in a row doubles it, up to 15 minutes, and both vary by ±20 %. */
export type ProbePace = { readonly probeSeconds: number };

/** A gate whose probe is due, in the hands of the caller for the time of the lease. */
export type DueProbe = {
	readonly configId: string;
	/** Whose config it is. */
	readonly tenantId: string;
	readonly reason: GateReason;
	/** What a later `endProbe` compares with. */
	readonly version: number;
};

/** What a gate let through or not, for the metrics: the change, and the flows to be woken. */
export type GateChange = { readonly configId: string; readonly tenantId: string; readonly reason: GateReason | null };
