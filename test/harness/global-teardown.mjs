/** Stops the PostgreSQL that the set-up has started. */
export default async function tearDown() {
	await globalThis.tidingsPostgres?.stop();
}
