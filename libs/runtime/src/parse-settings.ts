import { readFileSync } from 'node:fs';
import { Ajv, type ErrorObject } from 'ajv';
import envSchema from 'env-schema';
import { type Static, type TObject, Type } from 'typebox';
import { type DescribedSetting, describeSettings } from './describe-setting.js';
import { reasonOf } from './reason-of.js';

/** A rule over several settings, checked when each of them is right by itself. */
export type SettingsRule<Settings> = {
	/** The setting at fault first: its name is put before the text. */
	readonly of: readonly [keyof Settings & string, ...(keyof Settings & string)[]];
	/** What is wrong and what to do; null when nothing is. */
	readonly fault: (settings: Settings) => string | null;
};

/** Settings, or every fault of them, each with the name of its setting. */
export type ParsedSettings<Settings> =
	| { readonly kind: 'settings'; readonly settings: Settings }
	| { readonly kind: 'faults'; readonly faults: readonly string[] };

type Texts = Readonly<Record<string, string | undefined>>;

/**
 * Reads settings out of a map such as the environment. `NAME_FILE` may name a file that holds the value of `NAME`.
 * White space around a value is dropped, and an empty value counts as not set. Numbers and booleans are read from text, objects and lists from JSON. Names outside the schema are ignored.
 */
export function parseSettings<Schema extends TObject>(
	schema: Schema,
	env: Texts,
	rules: readonly SettingsRule<Static<Schema>>[] = [],
): ParsedSettings<Static<Schema>> {
	const faults = new Map<string, string[]>();
	const described = describeSettings(schema);
	const values: Record<string, unknown> = {};
	for (const setting of described) {
		const read = readValue(setting, env);
		if (read.kind === 'fault') faults.set(setting.name, [read.fault]);
		else if (read.value !== undefined) values[setting.name] = read.value;
	}
	const checked = check(without(schema, faults), values);
	if (checked.kind === 'errors') collectFaults(checked.errors, { described, values, faults });
	const sound = checked.kind === 'errors' ? check(without(schema, faults), values) : checked;
	const settings = (sound.kind === 'settings' ? sound.settings : {}) as Static<Schema>;
	const broken = rules
		.filter((rule) => rule.of.every((name) => !faults.has(name)))
		.map((rule) => ({ name: rule.of[0], fault: rule.fault(settings) }))
		.filter((one) => one.fault !== null);
	const all = [...[...faults.values()].flat(), ...broken.map((one) => `${one.name}: ${one.fault}`)];
	return all.length > 0 ? { kind: 'faults', faults: all } : { kind: 'settings', settings };
}

function readValue(setting: DescribedSetting, env: Texts): { kind: 'value'; value: unknown } | { kind: 'fault'; fault: string } {
	const { name } = setting;
	const file = env[`${name}_FILE`]?.trim() || undefined;
	let text = env[name]?.trim() || undefined;
	if (text !== undefined && file !== undefined)
		return { kind: 'fault', fault: `${name}: is set twice, as ${name} and as ${name}_FILE; keep one` };
	if (file !== undefined) {
		try {
			text = readFileSync(file, 'utf8').trim() || undefined;
		} catch (error) {
			return { kind: 'fault', fault: `${name}_FILE: cannot be read: ${reasonOf(error)}` };
		}
	}
	if (text === undefined || !setting.json) return { kind: 'value', value: text };
	try {
		return { kind: 'value', value: JSON.parse(text) };
	} catch {
		return { kind: 'fault', fault: `${name}: is not JSON` };
	}
}

type Checked = { kind: 'settings'; settings: Record<string, unknown> } | { kind: 'errors'; errors: readonly ErrorObject[] };

function check(schema: TObject, values: Record<string, unknown>): Checked {
	const ajv = new Ajv({ allErrors: true, useDefaults: true, coerceTypes: true, keywords: ['unit', 'form', 'secret'] });
	try {
		const data = structuredClone(Object.fromEntries(Object.entries(values).filter(([name]) => name in schema.properties)));
		return {
			kind: 'settings',
			settings: envSchema<Record<string, unknown>>({ schema, data, env: false, ajv: { customOptions: () => ajv } }),
		};
	} catch (error) {
		const { errors } = error as { errors?: ErrorObject[] };
		if (!Array.isArray(errors)) throw error;
		return { kind: 'errors', errors };
	}
}

/** The schema without the settings that have a fault already, as an object of its own: env-schema writes into it. */
function without(schema: TObject, faults: ReadonlyMap<string, unknown>): TObject {
	return Type.Object(Object.fromEntries(Object.entries(schema.properties).filter(([name]) => !faults.has(name))));
}

function collectFaults(
	errors: readonly ErrorObject[],
	into: { described: readonly DescribedSetting[]; values: Record<string, unknown>; faults: Map<string, string[]> },
): void {
	for (const error of errors) {
		const [, named = '', ...path] = error.instancePath.split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
		const name = named === '' ? String(error.params.missingProperty) : named;
		const setting = into.described.find((one) => one.name === name);
		if (setting === undefined) continue;
		const fault =
			path.length > 0
				? `${name}: at ${path.join(' → ')}: ${nestedFault(error)}`
				: `${name}: ${topFault(error, setting, into.values[name])}`;
		into.faults.set(name, [...new Set([...(into.faults.get(name) ?? []), fault])]);
	}
}

function topFault(error: ErrorObject, setting: DescribedSetting, value: unknown): string {
	if (error.keyword === 'required') return `is required: ${setting.form}`;
	const shown = setting.secret || typeof value !== 'string' ? '' : `, not ${JSON.stringify(value.slice(0, 100))}`;
	return `must be ${setting.form}${shown}`;
}

function nestedFault(error: ErrorObject): string {
	if (error.keyword === 'additionalProperties') return `there is no field ${JSON.stringify(error.params.additionalProperty)}`;
	return error.message ?? 'is wrong';
}
