/** Waits for `promise` at most `ms` milliseconds; `late` when it takes longer. What is late goes on unobserved: its rejection is swallowed. */
export async function within<Value>(promise: Promise<Value>, ms: number): Promise<{ late: false; value: Value } | { late: true }> {
	let timer: NodeJS.Timeout | undefined;
	const limit = new Promise<{ late: true }>((resolve) => {
		timer = setTimeout(() => resolve({ late: true }), Math.max(0, ms));
	});
	try {
		return await Promise.race([promise.then((value) => ({ late: false as const, value })), limit]);
	} finally {
		clearTimeout(timer);
	}
}
