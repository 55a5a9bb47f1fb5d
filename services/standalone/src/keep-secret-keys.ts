import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Keyring, parseKeys } from '@tidings/crypto';
import { randomBytes } from '@tidings/model';

/** The keys that seal credentials, made at the first start and kept in the data folder, readable by this user alone. */
export function keepSecretKeys(dataDir: string): Keyring {
	const file = join(dataDir, 'secret-keys');
	if (!existsSync(file)) {
		writeFileSync(`${file}.new`, `standalone:${Buffer.from(randomBytes(32)).toString('base64')}\n`, { mode: 0o600, flush: true });
		renameSync(`${file}.new`, file);
	}
	return parseKeys(readFileSync(file, 'utf8').trim());
}
