import type { Fault, FaultCode } from '@tidings/model';
import type { ErrorObject } from 'ajv';

/**
 * Turns the errors of a schema check into faults, each once: a JSON Pointer (with the name of a missing or unknown field at its end), a code, and what to do.
 * The errors of one `anyOf` become those of the branch that was meant, or one `wrong-type`.
 * Errors must come from a check with `verbose`.
 */
export function faultsOf(errors: readonly ErrorObject[]): Fault[] {
	const unions = errors.filter((error) => error.keyword === 'anyOf');
	const faults = new Map<string, Fault>();
	const add = (fault: Fault): void => {
		const key = `${fault.code}\n${fault.pointer}`;
		if (!faults.has(key)) faults.set(key, fault);
	};
	for (const error of errors) {
		if (error.keyword === 'anyOf') {
			if (!hasMeantBranch(error, errors)) add(fault(error.instancePath, 'wrong-type', `must be ${listed(branchTypes(error))}.`));
		} else if (!isBranchMismatch(error, unions)) add(faultOf(error));
	}
	return [...faults.values()];
}

/** A branch was meant when the value has its type: then there are errors beside the mismatches of type. */
function hasMeantBranch(union: ErrorObject, errors: readonly ErrorObject[]): boolean {
	const inside = `${union.instancePath}/`;
	return errors.some(
		(error) =>
			error !== union && (error.instancePath.startsWith(inside) || (error.instancePath === union.instancePath && error.keyword !== 'type')),
	);
}

function isBranchMismatch(error: ErrorObject, unions: readonly ErrorObject[]): boolean {
	return error.keyword === 'type' && unions.some((union) => union.instancePath === error.instancePath);
}

function branchTypes(union: ErrorObject): string[] {
	const branches = union.schema as readonly { type?: string | readonly string[] }[];
	return [...new Set(branches.flatMap((branch) => branch.type ?? []))].map(named);
}

function faultOf(error: ErrorObject): Fault {
	const { instancePath: at, keyword, params } = error;
	const number = (key: string): string => Number(params[key]).toLocaleString('en-US');
	switch (keyword) {
		case 'required':
			return fault(child(at, params['missingProperty']), 'required', 'is missing.');
		case 'additionalProperties':
			return fault(child(at, params['additionalProperty']), 'unknown-field', 'There is no such field here.');
		case 'type':
			return fault(at, 'wrong-type', `must be ${listed([params['type']].flat().map((type) => named(String(type))))}.`);
		case 'maxLength':
			return fault(at, 'too-long', `must have at most ${number('limit')} characters.`);
		case 'minLength':
			return fault(at, 'too-short', `must have at least ${number('limit')} characters.`);
		case 'maxItems':
		case 'maxProperties':
			return fault(at, 'too-many', `must have at most ${number('limit')} entries.`);
		case 'minItems':
		case 'minProperties':
			return fault(at, 'too-few', `must have at least ${number('limit')} entries.`);
		case 'minimum':
		case 'maximum':
			return fault(at, 'out-of-range', `must be ${keyword === 'minimum' ? 'at least' : 'at most'} ${number('limit')}.`);
		case 'enum':
			return fault(
				at,
				'not-one-of',
				`must be ${listed((params['allowedValues'] as readonly unknown[]).map((value) => `\`${String(value)}\``))}.`,
			);
		case 'const':
			return fault(at, 'not-one-of', `must be \`${String(params['allowedValue'])}\`.`);
		case 'format':
			return fault(at, 'bad-format', `must be ${FORMATS[String(params['format'])] ?? `a ${String(params['format'])}`}.`);
		default:
			return fault(at, 'bad-format', `must have the form that the documentation describes (${keyword}).`);
	}
}

const FORMATS: Readonly<Record<string, string>> = { uuid: 'a UUID' };

function fault(pointer: string, code: FaultCode, detail: string): Fault {
	const field = pointer.slice(pointer.lastIndexOf('/') + 1);
	return {
		pointer,
		code,
		detail: detail.startsWith('There') ? detail : `${pointer === '' ? 'The body' : `\`${clip(unescaped(field))}\``} ${detail}`,
	};
}

/** A JSON Pointer one step further (RFC 6901). */
export function child(pointer: string, key: string | number): string {
	return `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function unescaped(step: string): string {
	return step.replaceAll('~1', '/').replaceAll('~0', '~');
}

function clip(text: string): string {
	return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function named(type: string): string {
	return type === 'null' ? 'null' : type === 'integer' ? 'a whole number' : /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function listed(words: readonly string[]): string {
	return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
}
