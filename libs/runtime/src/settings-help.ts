import type { TObject } from 'typebox';
import { type DescribedSetting, describeSettings } from './describe-setting.js';

/** The text of `--help`. `command` is what a person types; `switches`: further flags and what they do. */
export function serviceHelp(options: {
	service: string;
	about: string;
	command: string;
	switches?: Readonly<Record<string, string>>;
	schema: TObject;
}): string {
	const switches = Object.entries(options.switches ?? {});
	const own = switches.map(([name]) => `--${name} | `).join('');
	return [
		`${options.service}: ${options.about}`,
		'',
		`Usage: ${options.command} [${own}--check-config | --help]`,
		'',
		...switches.map(([name, what]) => `  --${name.padEnd(13)} ${what}`),
		'  --check-config  read the settings, report every fault, connect to nothing; exits 0 or 78',
		'  --help          this text',
		'',
		settingsHelp(options.schema),
	].join('\n');
}

/** Each setting, its meaning, its values and its default. */
export function settingsHelp(schema: TObject): string {
	return [
		'Settings come from the environment. NAME_FILE may name a file that holds the value of NAME.',
		'',
		...describeSettings(schema).flatMap((setting) => [
			`${setting.name} (${setting.required ? 'required' : `default: ${defaultOf(setting)}`})`,
			`  ${setting.description}`,
			`  Values: ${setting.form}`,
			'',
		]),
	].join('\n');
}

/** The settings of one service as a Markdown section with a table: a part of docs/config.md. */
export function settingsTable(service: string, schema: TObject): string {
	const rows = describeSettings(schema).map(
		(setting) => `| \`${setting.name}\` | ${defaultOf(setting)} | ${cell(setting.form)} | ${cell(setting.description)} |`,
	);
	return [`## ${service}`, '', '| setting | default | values | meaning |', '|---|---|---|---|', ...rows, ''].join('\n');
}

function defaultOf(setting: DescribedSetting): string {
	if (setting.required) return 'required';
	if (setting.fallback === null) return 'none';
	return `${setting.fallback}${setting.unit === null ? '' : ` ${setting.unit}`}`;
}

function cell(text: string): string {
	return text.replaceAll('|', '\\|');
}
