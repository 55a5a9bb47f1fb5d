import { maskAddressesIn } from './address.js';

/** The same values with every address in a text or a name masked, at whatever depth. */
export function maskValues<T>(values: Readonly<Record<string, T>>): Record<string, T> {
	return Object.fromEntries(Object.entries(values).map(([name, value]) => [maskAddressesIn(name), maskValue(value) as T]));
}

function maskValue(value: unknown): unknown {
	if (typeof value === 'string') return maskAddressesIn(value);
	if (Array.isArray(value)) return value.map(maskValue);
	return typeof value === 'object' && value !== null ? maskValues(value as Record<string, unknown>) : value;
}
