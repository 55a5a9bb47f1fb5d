/** A sentence for the person who started it when a port cannot be listened on, naming the flag that chooses another. */
export function listenProblem(options: { cause: unknown; port: number; purpose: string; flag: string }): Error {
	const { cause, port, purpose, flag } = options;
	const { code, message } = cause as NodeJS.ErrnoException;
	const reason = code === 'EADDRINUSE' ? 'is taken' : `cannot be listened on (${message})`;
	return new Error(`Port ${port}, meant for ${purpose}, ${reason}. Choose another with ${flag}.`, { cause });
}
