/** Stops what the set-up has started. */
export default async function tearDown() {
	await globalThis.tidingsServers.stop();
}
