import { type Fault, type FaultCode, Problem } from '@tidings/model';
import { faultsGiven, pointerTo } from '@tidings/runtime';
import { faultOfLine, faultOfText } from './text.js';

/** Collects the faults of one request, each once. */
export type Faults = {
	readonly list: readonly Fault[];
	add(pointer: string, code: FaultCode, detail: string): void;
	/** Whether the schema found a text too long: then it is not looked into. `field`: a step further than `pointer`. */
	isTooLong(pointer: string, field?: string): boolean;
};

/** Begins with the faults that the schema found. */
export function collectFaults(given: readonly Fault[]): Faults {
	const list = [...given];
	const keyOf = (pointer: string, code: string): string => `${code}\n${pointer}`;
	const seen = new Set(given.map((one) => keyOf(one.pointer, one.code)));
	const add: Faults['add'] = (pointer, code, detail) => {
		const key = keyOf(pointer, code);
		if (seen.has(key)) return;
		seen.add(key);
		list.push({ pointer, code, detail });
	};
	const isTooLong: Faults['isTooLong'] = (pointer, field) =>
		list.length > 0 && seen.has(keyOf(field === undefined ? pointer : pointerTo(pointer, field), 'too-long'));
	return { list, add, isTooLong };
}

/** A body or a part of it before it is known to be right. */
export type Raw = Readonly<Record<string, unknown>>;

/** An object to look into, when the value is one. */
export function rawOf(value: unknown): Raw | null {
	return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Raw) : null;
}

/** The body of a request that a schema has looked at before, and the faults that it found. */
export function beginChecks(request: Parameters<typeof faultsGiven>[0] & { readonly body: unknown }): { raw: Raw; faults: Faults } {
	return { raw: rawOf(request.body) ?? {}, faults: collectFaults(faultsGiven(request)) };
}

/** Throws 422 with every fault, if there are any. */
export function refuseFaulty(faults: Faults): void {
	if (faults.list.length > 0) throw new Problem('invalid-request', 'The request is refused. Nothing was written.', { faults: faults.list });
}

/** The entries of a list, as many as could be right; none when the value is no list. */
export function listOf(value: unknown, most: number): readonly unknown[] {
	return Array.isArray(value) ? value.slice(0, most) : [];
}

/** A field's text when it is one line as it should be; null when it is absent or wrong, which is then among the faults. */
export function lineOf(raw: Raw, field: string, at: string, faults: Faults): string | null {
	return checked(raw[field], { at, field }, faults, faultOfLine);
}

/** The same for a text of several lines. */
export function textOf(raw: Raw, field: string, at: string, faults: Faults): string | null {
	return checked(raw[field], { at, field }, faults, faultOfText);
}

function checked(
	value: unknown,
	place: { at: string; field: string },
	faults: Faults,
	faultOf: (text: string) => string | null,
): string | null {
	if (typeof value !== 'string' || faults.isTooLong(place.at, place.field)) return null;
	const fault = faultOf(value);
	if (fault === null) return value;
	faults.add(pointerTo(place.at, place.field), 'control-character', fault);
	return null;
}
