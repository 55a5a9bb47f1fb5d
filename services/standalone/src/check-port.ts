import { createServer } from 'node:net';

/** Rejects with a sentence that names the flag when nobody can listen on `port` now. 0 is always free. */
export async function checkPort(port: number, flag: string): Promise<void> {
	const server = createServer();
	try {
		await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, resolve));
	} catch (cause) {
		const { code } = cause as NodeJS.ErrnoException;
		const reason = code === 'EADDRINUSE' ? 'is taken' : code === 'EACCES' ? 'needs more rights' : `cannot be used (${code})`;
		throw new Error(`Port ${port} ${reason}. Choose another with ${flag}; 0 is any free one.`, { cause });
	}
	await new Promise((resolve) => server.close(resolve));
}
