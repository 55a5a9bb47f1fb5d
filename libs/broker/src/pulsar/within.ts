/** Waits for `promise` at most `ms` milliseconds, then rejects as the official client does: `{what}: TimeOut`. What comes later goes to `late`; a late rejection is swallowed. */
export async function within<Value>(promise: Promise<Value>, ms: number, what: string, late?: (value: Value) => void): Promise<Value> {
	let timer: NodeJS.Timeout | undefined;
	let over = false;
	const limit = new Promise<never>((_, reject) => {
		timer = setTimeout(
			() => {
				over = true;
				reject(new Error(`${what}: TimeOut`));
			},
			Math.max(0, ms),
		);
	});
	promise.then(
		(value) => {
			if (over) late?.(value);
		},
		() => undefined,
	);
	try {
		return await Promise.race([promise, limit]);
	} finally {
		clearTimeout(timer);
	}
}
