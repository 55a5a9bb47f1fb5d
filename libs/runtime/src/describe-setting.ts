import type { TObject } from 'typebox';

/** What a message, `--help` and the docs say about one setting: read from its schema. */
export type DescribedSetting = {
	readonly name: string;
	readonly description: string;
	/** As it would stand in the environment; null when there is none. */
	readonly fallback: string | null;
	readonly required: boolean;
	readonly unit: string | null;
	/** The values it takes, in words. */
	readonly form: string;
	readonly secret: boolean;
	/** Whether the environment holds it as JSON. */
	readonly json: boolean;
};

type RawSetting = {
	type?: string;
	description?: string;
	default?: unknown;
	unit?: string;
	form?: string;
	secret?: boolean;
	enum?: readonly unknown[];
	minimum?: number;
	maximum?: number;
	exclusiveMinimum?: number;
};

/** Describes every setting of a service's schema, in order. */
export function describeSettings(schema: TObject): readonly DescribedSetting[] {
	const required = new Set<string>(schema.required ?? []);
	return Object.entries(schema.properties as Record<string, RawSetting>).map(([name, raw]) => ({
		name,
		description: raw.description ?? '',
		fallback: raw.default === undefined ? null : typeof raw.default === 'object' ? JSON.stringify(raw.default) : String(raw.default),
		required: required.has(name) && raw.default === undefined,
		unit: raw.unit ?? null,
		form: raw.form ?? formOf(raw),
		secret: raw.secret ?? false,
		json: raw.type === 'object' || raw.type === 'array',
	}));
}

function formOf(raw: RawSetting): string {
	if (raw.enum !== undefined) return raw.enum.join(', ');
	switch (raw.type) {
		case 'boolean':
			return 'true or false';
		case 'integer':
			return `a whole number${rangeOf(raw)}`;
		case 'number':
			return `a number${rangeOf(raw)}`;
		case 'object':
		case 'array':
			return 'JSON';
		default:
			return 'text';
	}
}

function rangeOf({ minimum, maximum, exclusiveMinimum }: RawSetting): string {
	const low = minimum !== undefined ? `at least ${minimum}` : exclusiveMinimum !== undefined ? `above ${exclusiveMinimum}` : null;
	const high = maximum === undefined ? null : `at most ${maximum}`;
	const range = [low, high].filter((one) => one !== null);
	return range.length === 0 ? '' : `, ${range.join(', ')}`;
}
