import { register } from 'tsx/esm/api';

register();
const { startServers } = await import('./servers.ts');

/** Starts what a run of Jest alone needs; under `npm test` the runner has done so. Workers read the addresses from the environment. */
export default async function setUp({ nonFlagArgs }) {
	if (process.channel) {
		// The runner is gone, also by kill -9: end here too, and with this process what it has started.
		process.on('disconnect', () => process.exit(1));
		process.channel.unref();
	}
	globalThis.tidingsServers = await startServers({ eager: nonFlagArgs.length === 0 });
}
