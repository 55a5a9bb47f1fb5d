import { faultOfKeys, parseKeys } from '@tidings/crypto';
import { assertSchema, openDb } from '@tidings/db';
import { loadConfig, SETTINGS } from '@tidings/runtime';
import { createLogger } from '@tidings/telemetry';
import { Type } from 'typebox';
import { rotateKeys } from './rotate-keys.js';

const settings = loadConfig({
	service: 'keys:rotate',
	about: 'seals every stored secret with the newest key. It may be broken off, repeated, and run while the services work.',
	schema: Type.Object({
		DATABASE_URL: SETTINGS.DATABASE_URL,
		TIDINGS_SECRET_KEYS: SETTINGS.TIDINGS_SECRET_KEYS,
		LOG_LEVEL: SETTINGS.LOG_LEVEL,
	}),
	command: 'npm run keys:rotate --',
	switches: { 'dry-run': 'write nothing, only count the secrets by the key that seals them' },
	rules: [{ of: ['TIDINGS_SECRET_KEYS'], fault: (all) => faultOfKeys(all.TIDINGS_SECRET_KEYS) }],
});
const log = createLogger({ service: 'keys:rotate', level: settings.LOG_LEVEL });
const db = openDb({ url: settings.DATABASE_URL, name: 'rotate-keys', connections: 2, log });
try {
	await assertSchema(db.pool);
	const rotation = await rotateKeys({
		pool: db.pool,
		keyring: parseKeys(settings.TIDINGS_SECRET_KEYS),
		dryRun: process.argv.includes('--dry-run'),
		report: (line) => log.error(line),
	});
	process.stdout.write(`${JSON.stringify(rotation)}\n`);
	if (rotation.failed > 0) process.exitCode = 1;
} catch (error) {
	process.stderr.write(`keys:rotate: ${error instanceof Error ? error.message : String(error)}\n`);
	process.exitCode = 1;
} finally {
	await db.close();
}
