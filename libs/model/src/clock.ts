/** The wall clock. Leases and due times do not use it: those are the database's. */
export function now(): Date {
	return new Date();
}

/** Milliseconds of a clock that never goes back, for measuring durations. */
export function monotonic(): number {
	return performance.now();
}
