import { ALERT_SETTINGS } from '@tidings/dead-letter';
import { MAIL_SENDER_RULES, SENDING_SETTINGS } from '@tidings/mail-sender';
import { PUBLISHER_SETTINGS } from '@tidings/outbox-publisher';
import { JWT_RULES, JWT_SETTINGS, parseSettings, QUOTA_SETTINGS, SETTINGS, settingsHelp } from '@tidings/runtime';
import { Command, InvalidArgumentError } from 'commander';
import { type Static, Type } from 'typebox';

/** The settings that standalone reads from the environment; everything else it brings itself. Private hosts are allowed, for its own mail catcher is one. */
export const STANDALONE_SETTINGS = {
	...PUBLISHER_SETTINGS,
	...SENDING_SETTINGS,
	...JWT_SETTINGS,
	...ALERT_SETTINGS,
	...QUOTA_SETTINGS,
	TIDINGS_API_RATE_PER_SECOND: SETTINGS.TIDINGS_API_RATE_PER_SECOND,
	TIDINGS_ALLOW_PRIVATE_HOSTS: { ...SENDING_SETTINGS.TIDINGS_ALLOW_PRIVATE_HOSTS, default: true },
	TIDINGS_DRAIN_SECONDS: SETTINGS.TIDINGS_DRAIN_SECONDS,
	LOG_LEVEL: { ...SETTINGS.LOG_LEVEL, default: 'warn' as const },
};

const schema = Type.Object(STANDALONE_SETTINGS);

/** Where standalone listens and keeps its data. A port of 0 is any free one. */
export type Flags = {
	readonly port: number;
	readonly adminPort: number;
	readonly smtpPort: number;
	readonly mailPort: number;
	readonly dataDir: string;
};

/** Everything that standalone is told from outside. */
export type StandaloneConfig = { readonly flags: Flags; readonly settings: Static<typeof schema> };

/** Exit codes of sysexits.h: wrong usage, wrong configuration. */
const EX_USAGE = 64;
const EX_CONFIG = 78;

/** Reads flags and settings; ends the process by itself for `--help` and `--check-config` (0), wrong flags (64) and wrong settings (78, with every fault). */
export function readConfig(): StandaloneConfig {
	const program = new Command('npm start --')
		.description(
			'Tidings in one process: database, broker and mail catcher are inside. What it shows is written to <data-dir>/standalone.json too.',
		)
		.option('--port <port>', 'port of the API', port, 7070)
		.option('--admin-port <port>', 'port of /livez, /readyz and /metrics', port, 7072)
		.option(
			'--smtp-port <port>',
			"port of the mail catcher's SMTP; with 0 another at each start, which only its own server follows",
			port,
			7025,
		)
		.option('--mail-port <port>', "port of the mail catcher's page", port, 7071)
		.option('--data-dir <folder>', 'where everything is kept', '.tidings')
		.option('--check-config', 'check flags and settings, start nothing')
		.addHelpText('after', () => `\n${settingsHelp(schema)}`)
		.allowExcessArguments(false)
		.exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EX_USAGE));
	program.parse();
	const { checkConfig, ...flags } = program.opts<Flags & { checkConfig?: boolean }>();
	const parsed = parseSettings(schema, process.env, [...MAIL_SENDER_RULES, ...JWT_RULES]);
	if (parsed.kind === 'faults') {
		process.stderr.write(`standalone: the configuration is wrong:\n${parsed.faults.map((fault) => `  ${fault}\n`).join('')}`);
		process.exit(EX_CONFIG);
	}
	if (checkConfig === true) {
		process.stdout.write('standalone: the configuration is right\n');
		process.exit(0);
	}
	return { flags, settings: parsed.settings };
}

function port(text: string): number {
	const value = Number(text);
	if (!/^\d{1,5}$/.test(text) || value > 65_535) throw new InvalidArgumentError('a port is a number from 0 to 65535.');
	return value;
}
