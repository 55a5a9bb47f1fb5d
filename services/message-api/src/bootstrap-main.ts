import { assertSchema, openDb } from '@tidings/db';
import { loadConfig, SETTINGS } from '@tidings/runtime';
import { Type } from 'typebox';
import { bootstrap } from './bootstrap.js';

const settings = loadConfig({
	service: 'bootstrap',
	about: 'makes the first tenant, once, and fresh keys for it and for the platform.',
	schema: Type.Object({ DATABASE_URL: SETTINGS.DATABASE_URL }),
	command: 'npm run bootstrap --',
});
const db = openDb({ url: settings.DATABASE_URL, name: 'bootstrap', connections: 2 });
try {
	await assertSchema(db.pool);
	process.stdout.write(`${JSON.stringify(await bootstrap(db))}\n`);
} catch (error) {
	process.stderr.write(`bootstrap: ${error instanceof Error ? error.message : String(error)}\n`);
	process.exitCode = 1;
} finally {
	await db.close();
}
