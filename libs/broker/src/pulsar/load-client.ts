import { createRequire } from 'node:module';
import type { PulsarModule } from './client-types.js';

/**
 * Loads the official client. Throws, with what to do about it, when the optional package is not installed, was installed without its binary, or its binary does not fit this machine.
 */
export function loadClient(load: (name: string) => unknown = createRequire(import.meta.url)): PulsarModule {
	try {
		return load('pulsar-client') as PulsarModule;
	} catch (cause) {
		const missing = typeof cause === 'object' && cause !== null && 'code' in cause && cause.code === 'MODULE_NOT_FOUND';
		const found = missing ? 'is not installed, or without its binary' : 'is installed, but its binary does not load on this machine';
		throw new Error(
			`broker URLs of pulsar: and pulsar+ssl: need the package pulsar-client, which ${found}: install version 1.18.0 of it ("npm install pulsar-client") where its binary can be downloaded, or give the ws:// or wss:// address of the broker instead`,
			{ cause },
		);
	}
}
