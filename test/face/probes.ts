import fc from 'fast-check';
import { mutated, RAW_BODIES } from './mutations.js';
import type { Documented, Face } from './operations.js';
import { valuesOf } from './schema-values.js';
import { HEADERS, IDS, METHODS, NAMES, OTHER_HEADERS, VALUES } from './wrong-parts.js';

/** A request of the fuzzer. `right` is replaced by what is right at that moment. */
export type Probe = {
	readonly method: string;
	/** What stands for `{id}`; `right` and `RIGHT`: the id of a thing that is there, the second in upper case. */
	readonly id: string;
	/** `name=value` as they are sent. */
	readonly query: readonly string[];
	/** Also `authorization`, `if-match` and `tidings-tenant`, where `right` stands for the right one. */
	readonly headers: Readonly<Record<string, string>>;
	/** Null: none. */
	readonly body: { readonly text: string } | { readonly raw: string } | null;
};

const ids = fc.oneof({ weight: 1, arbitrary: fc.constant('RIGHT') }, { weight: 5, arbitrary: fc.constantFrom(...IDS) });

function queries({ parameters }: Documented): fc.Arbitrary<string[]> {
	const known = parameters.filter((one) => one.in === 'query');
	const names = [...known.map((one) => one.name.replace('{name}', 'orderNo')), ...known.map((one) => `${one.name}[]`)];
	const rights = known.flatMap(({ name, schema }) => ((schema['enum'] ?? []) as unknown[]).map((value) => `${name}=${value}`));
	const value = fc.constantFrom(...VALUES);
	const field = fc.oneof(
		...(names.length === 0 ? [] : [{ weight: 6, arbitrary: fc.tuple(fc.constantFrom(...names), value).map((pair) => pair.join('=')) }]),
		...(rights.length === 0 ? [] : [{ weight: 4, arbitrary: fc.constantFrom(...rights) }]),
		{ weight: 1, arbitrary: fc.tuple(fc.constantFrom(...NAMES), value).map((pair) => pair.join('=')) },
		{ weight: 1, arbitrary: fc.constantFrom('=', '&', '%', '?', '#', 'limit', ';', '%00=%00') },
	);
	return fc.array(field, { minLength: 1, maxLength: 3 });
}

const rarely = (values: readonly string[], weight = 4): fc.Arbitrary<string | undefined> =>
	fc.oneof({ weight: 20 - weight, arbitrary: fc.constant(undefined) }, { weight, arbitrary: fc.constantFrom(...values) });

function headers({ guarded }: Documented): fc.Arbitrary<Record<string, string>> {
	const own = fc.record({
		authorization: rarely(HEADERS.authorization, 2).map((value) => value ?? 'Bearer right'),
		'if-match': guarded ? rarely(HEADERS['if-match'], 12).map((value) => value ?? 'right') : rarely(HEADERS['if-match'], 1),
		'idempotency-key': rarely(HEADERS['idempotency-key']),
		traceparent: rarely(HEADERS.traceparent),
		'content-type': rarely(HEADERS['content-type'], 3).map((value) => value ?? 'application/json'),
		'tidings-tenant': rarely(HEADERS['tidings-tenant'], 1),
	});
	const others = Object.entries(OTHER_HEADERS).flatMap(([name, values]) => values.map((value) => ({ [name]: value })));
	// One of them is away: If-Match where it is needed, the credential, the type of the body.
	const away = rarely(['if-match', 'authorization', 'content-type'], 3);
	return fc.tuple(own, fc.array(fc.constantFrom(...others), { maxLength: 1 }), away).map(([some, more, missing]) => {
		const all = Object.entries(Object.assign({}, some, ...more) as Record<string, string | undefined>);
		return Object.fromEntries(all.filter((pair): pair is [string, string] => pair[1] !== undefined && pair[0] !== missing));
	});
}

function bodies({ schema, example }: Documented, { schemas }: Face): fc.Arbitrary<Probe['body']> {
	const raw = fc.constantFrom(...Object.keys(RAW_BODIES)).map((name) => ({ raw: name }));
	if (schema === null) return fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: raw });
	const right = fc.oneof(valuesOf(schema, schemas), fc.constant(example));
	return fc.oneof(
		{ weight: 8, arbitrary: mutated(right).map(written) },
		{ weight: 2, arbitrary: raw },
		{ weight: 1, arbitrary: fc.constant(null) },
	);
}

/** The request that is right in every part. */
export function rightProbe({ method, schema, example }: Documented): Probe {
	return { method, id: 'right', query: [], headers: RIGHT_HEADERS, body: schema === null ? null : written(example) };
}

const RIGHT_HEADERS = { authorization: 'Bearer right', 'if-match': 'right', 'content-type': 'application/json' };

/** Requests to an operation: right ones, and wrong in one part or several. */
export function probesOf(operation: Documented, face: Face): fc.Arbitrary<Probe> {
	const right = rightProbe(operation);
	const { schema } = operation;
	const rightBody = schema === null ? fc.constant(null) : valuesOf(schema, face.schemas).map(written);
	const wild = {
		method: fc.oneof({ weight: 3, arbitrary: fc.constant(operation.method) }, { weight: 1, arbitrary: fc.constantFrom(...METHODS) }),
		id: operation.path.includes('{id}') ? ids : fc.constant('right'),
		query: queries(operation),
		headers: headers(operation),
		body: bodies(operation, face),
	};
	const parts = Object.keys(wild) as (keyof Probe)[];
	const faulty = fc.oneof(
		{ weight: 6, arbitrary: fc.subarray(parts, { maxLength: 2 }) },
		// Most of what can be wrong is in a body.
		...(schema === null ? [] : [{ weight: 5, arbitrary: fc.constant<(keyof Probe)[]>(['body']) }]),
		{ weight: 1, arbitrary: fc.constant(parts) },
	);
	return faulty.chain((some) => {
		const parts = {
			...{ method: fc.constant(right.method), id: fc.constant(right.id), query: fc.constant(right.query) },
			...{ headers: fc.constant(right.headers), body: rightBody },
			...Object.fromEntries(some.map((part) => [part, wild[part]])),
		};
		return (fc.record(parts) as fc.Arbitrary<Probe>).map(shown);
	});
}

/** A body as it is sent. */
function written(value: unknown): { readonly text: string } {
	return { text: JSON.stringify(value) ?? '' };
}

/** Has a report show a probe in short: bodies can be of megabytes. */
function shown(probe: Probe): Probe {
	const text = (): string =>
		JSON.stringify(probe, (_, value) => (typeof value === 'string' && value.length > 2_000 ? `${value.slice(0, 2_000)}…` : value));
	return Object.defineProperty(probe, fc.toStringMethod, { value: text });
}
