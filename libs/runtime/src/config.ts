import type { Static, TObject } from 'typebox';
import { type ConfigOptions, readConfig } from './read-config.js';

/**
 * Reads a service's settings once. It ends the process by itself for `--help` (0), `--check-config` (0, or 78 with every fault on stderr),
 * an unknown flag (64) and faulty settings (78); nothing is connected to before it returns.
 */
export function loadConfig<Schema extends TObject>(options: ConfigOptions<Schema>): Static<Schema> {
	const read = readConfig(options, process.argv.slice(2), process.env);
	if (read.kind === 'settings') return read.settings;
	(read.code === 0 ? process.stdout : process.stderr).write(read.text);
	process.exit(read.code);
}
