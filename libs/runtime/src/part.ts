/**
 * One thing of a service that is started and stopped: a pool, a consumer, a server, a poll.
 * Parts start in order and stop in reverse, so a part may use every part before it for as long as it runs.
 */
export type Part = {
	/** Shown in logs and as the check's name on `/readyz`. A part named like a dependency (`postgres`, `broker`) also reports to `tidings_dependency_up`. */
	readonly name: string;
	/** Resolves when the part is at work; rejects with a reason that says what to do. Only called once. */
	start(): Promise<void>;
	/** Take nothing new; what is held goes on. Called for every part before the first `stop`. Must be quick. */
	quiet?(): void | Promise<void>;
	/** Finish what is held, then let go of every timer, socket and connection. Only called after a `start` that succeeded. `leftMs`: after so long the process ends, whatever is held; absent: it does not. */
	stop(leftMs?: number): Promise<void>;
	/** Resolves when the part can do its work now; rejects with a readable reason when not. */
	health?(): Promise<void>;
};

/** Where a service stands in its life. It is ready for traffic in `ready` only. */
export type Phase = 'starting' | 'ready' | 'draining';

/** Parts that are at work, in the order in which they started: what `stopParts` takes. */
export type RunningParts = { readonly started: readonly Part[] };
