import { parseArgs } from 'node:util';
import type { Static, TObject } from 'typebox';
import { parseSettings, type SettingsRule } from './parse-settings.js';
import { reasonOf } from './reason-of.js';
import { serviceHelp } from './settings-help.js';

/** What a service says about its configuration. */
export type ConfigOptions<Schema extends TObject> = {
	/** The service's name, as in `services/<name>`. */
	readonly service: string;
	/** What it does, in one sentence, for `--help`. */
	readonly about: string;
	readonly schema: Schema;
	/** What a person types to start it, for `--help`; default `node services/<service>/dist/main.js`. */
	readonly command?: string;
	/** Flags of a command beside `--check-config` and `--help`, without their dashes, each with what it does; it looks for them itself. */
	readonly switches?: Readonly<Record<string, string>>;
	readonly rules?: readonly SettingsRule<Static<Schema>>[];
};

/** The settings to run with, or a text to print and the code to exit with: 0 goes to stdout, all else to stderr. */
export type ReadConfig<Settings> =
	| { readonly kind: 'settings'; readonly settings: Settings }
	| { readonly kind: 'exit'; readonly code: 0 | 64 | 78; readonly text: string };

/** Decides what a service does with its flags and its environment; the exit codes are those of sysexits.h (64 usage, 78 configuration). */
export function readConfig<Schema extends TObject>(
	options: ConfigOptions<Schema>,
	argv: readonly string[],
	env: Readonly<Record<string, string | undefined>>,
): ReadConfig<Static<Schema>> {
	const { service, about, schema, command = `node services/${service}/dist/main.js`, switches = {} } = options;
	const flags = readFlags(argv, Object.keys(switches));
	if (flags.kind === 'refused') return { kind: 'exit', code: 64, text: `${service}: ${flags.reason}\nTry --help.\n` };
	if (flags.help) return { kind: 'exit', code: 0, text: serviceHelp({ service, about, command, switches, schema }) };
	const parsed = parseSettings(schema, env, options.rules);
	if (parsed.kind === 'faults') {
		const faults = parsed.faults.map((fault) => `  ${fault}\n`).join('');
		return { kind: 'exit', code: 78, text: `${service}: the configuration is wrong:\n${faults}Try --help for each setting.\n` };
	}
	return flags.check ? { kind: 'exit', code: 0, text: `${service}: the configuration is right\n` } : parsed;
}

type Flags = { kind: 'flags'; help: boolean; check: boolean } | { kind: 'refused'; reason: string };

function readFlags(argv: readonly string[], switches: readonly string[]): Flags {
	try {
		const { values } = parseArgs({
			args: [...argv],
			options: {
				...Object.fromEntries(switches.map((name) => [name, { type: 'boolean' as const }])),
				help: { type: 'boolean', short: 'h', default: false },
				'check-config': { type: 'boolean', default: false },
			},
		});
		return { kind: 'flags', help: values.help === true, check: values['check-config'] === true };
	} catch (error) {
		return { kind: 'refused', reason: reasonOf(error) };
	}
}
