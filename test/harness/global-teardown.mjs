/** Stops what the set-up has started. */
export default async function tearDown() {
	await Promise.all([globalThis.tidingsPostgres?.stop(), globalThis.tidingsPulsar?.stop()]);
}
