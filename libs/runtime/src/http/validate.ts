import { isUuid, Problem } from '@tidings/model';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import formats from 'ajv-formats';
import type { FastifySchema, FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { clip, faultsOf, fieldAt } from './faults-of.js';
import { DEEPEST } from './scan-json.js';

/** A refused body with more values than this is answered with its first fault only: to list all would cost more than the body is worth. */
const MOST_LISTED = 10_000;

/** Taken as they are: nothing is removed, converted or filled in. Lengths are UTF-16 code units, as everywhere. */
const PLAIN = {
	strict: false,
	removeAdditional: false,
	coerceTypes: false,
	useDefaults: false,
	unicode: false,
	logger: false,
	verbose: true,
} as const;

/**
 * Makes the compiler of schema checks. A right value is checked once and quickly; only a wrong one is checked again for every fault.
 * A wrong body is a `Problem` 422 with all faults (400 when it is missing or nested too deeply), a wrong query field 400, a wrong path parameter 404.
 * `schemas`: those that others refer to by `$id`.
 */
export function createValidatorCompiler(schemas: readonly TSchema[]): FastifySchemaCompiler<FastifySchema> {
	const quick = new Ajv(PLAIN);
	const thorough = new Ajv({ ...PLAIN, allErrors: true });
	for (const ajv of [quick, thorough]) {
		formats.default(ajv);
		// The library's own takes `urn:uuid:…` too, and versions that do not exist.
		ajv.addFormat('uuid', isUuid);
		// Whoever reads a time or an address says more about a wrong one; here the words are for the document.
		for (const format of ['date-time', 'idn-email']) ajv.addFormat(format, true);
		for (const schema of schemas) ajv.addSchema(schema);
	}
	return ({ schema, httpPart }) => {
		const check = quick.compile(schema);
		const explain = lazily(() => thorough.compile(schema));
		const isOptional = (schema as { 'x-optional'?: boolean })['x-optional'] === true;
		return (value: unknown) => {
			if (httpPart === 'body' && value === null)
				return isOptional || { error: new Problem('malformed-request', 'The body is missing: send a JSON object.') };
			if (check(value)) return true;
			switch (httpPart) {
				case 'body':
					return { error: refusedBody(value, check.errors ?? [], explain) };
				case 'params':
					return { error: new Problem('not-found', 'There is no such thing: the id is not a UUID.') };
				default:
					return { error: refusedQuery(value, explain) };
			}
		};
	};
}

function refusedBody(value: unknown, first: readonly ErrorObject[], explain: () => ValidateFunction): Problem {
	const size = measure(value);
	if (size === 'too deep') return nestedTooDeeply();
	if (size === 'too many') return refused(faultsOf(first), ' It is too large to look for more than the first fault.');
	return refused(faultsOf(errorsOf(explain(), value)), '');
}

/** Throws 400 when a value goes deeper than bodies may: for one that the schema does not look into. */
export function refuseDeepNesting(value: unknown): void {
	if (measure(value) === 'too deep') throw nestedTooDeeply();
}

function nestedTooDeeply(): Problem {
	return new Problem('malformed-request', `The body is nested more than ${DEEPEST} levels deep.`);
}

function refused(faults: ReturnType<typeof faultsOf>, note: string): Problem {
	return new Problem(
		'invalid-request',
		`The body has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}.${note} Nothing was written.`,
		{ faults },
	);
}

function refusedQuery(value: unknown, explain: () => ValidateFunction): Problem {
	const repeated = Object.entries(value as object).filter(([, one]) => Array.isArray(one));
	const details =
		repeated.length > 0
			? repeated.map(([field]) => `\`${clip(field)}\` stands more than once: give it once.`)
			: faultsOf(errorsOf(explain(), value)).map((one) =>
					one.code === 'unknown-field' ? `${fieldAt(one.pointer)}: ${one.detail}` : one.detail,
				);
	const detail = details.slice(0, 20).join(' ');
	return new Problem('malformed-request', `The query is refused. ${detail}`);
}

function errorsOf(explain: ValidateFunction, value: unknown): readonly ErrorObject[] {
	explain(value);
	return explain.errors ?? [];
}

/** Walks without recursion, so that no depth can exhaust the stack. */
function measure(value: unknown): 'fine' | 'too deep' | 'too many' {
	let level: unknown[] = [value];
	let seen = 0;
	for (let depth = 0; level.length > 0; depth += 1) {
		if (depth > DEEPEST) return 'too deep';
		const next: unknown[] = [];
		for (const one of level) {
			if (typeof one !== 'object' || one === null) continue;
			for (const inner of Object.values(one)) next.push(inner);
			seen += 1;
		}
		seen += next.length;
		if (seen > MOST_LISTED) return 'too many';
		level = next;
	}
	return 'fine';
}

function lazily<T>(make: () => T): () => T {
	let made: { value: T } | null = null;
	return () => {
		made ??= { value: make() };
		return made.value;
	};
}
