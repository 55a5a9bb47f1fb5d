import type { Fault, FaultCode } from '@tidings/model';
import type { ErrorObject } from 'ajv';

/**
 * Turns the errors of a schema check into faults, each once: a JSON Pointer (with the name of a missing or unknown field at its end), a code, and what to do.
 * The errors of one `anyOf` become those of the branch that was meant, or one `wrong-type`.
 * Errors must come from a check with `verbose`.
 */
export function faultsOf(errors: readonly ErrorObject[]): Fault[] {
	const places = findPlaces(errors);
	const faults = new Map<string, Fault>();
	const add = (fault: Fault): void => {
		const key = `${fault.code}\n${fault.pointer}`;
		if (!faults.has(key)) faults.set(key, fault);
	};
	for (const error of errors) {
		const { instancePath: at, keyword } = error;
		if (keyword === 'anyOf') {
			if (!places.meant.has(at)) add(fault(at, 'wrong-type', `must be ${listed(branchTypes(error))}.`));
		} else if (keyword !== 'type' || !places.unions.has(at)) add(faultOf(error));
	}
	return [...faults.values()];
}

/** Where unions failed, and where a branch was meant: the value has its type, so that there are errors beside the mismatches of type. Each error is looked at once. */
function findPlaces(errors: readonly ErrorObject[]): { readonly unions: ReadonlySet<string>; readonly meant: ReadonlySet<string> } {
	const unions = new Set(errors.filter((error) => error.keyword === 'anyOf').map((error) => error.instancePath));
	const meant = new Set<string>();
	const failed = new Set<string>();
	for (const { instancePath: at, keyword } of errors) {
		if (!unions.has(at) || keyword === 'type') continue;
		if (keyword !== 'anyOf' || failed.has(at)) meant.add(at);
		else failed.add(at);
	}
	if (unions.size > 0) {
		for (const { instancePath: at } of errors) {
			for (let end = at.lastIndexOf('/'); end >= 0; end = at.lastIndexOf('/', end - 1)) {
				meant.add(at.slice(0, end));
				if (end === 0) break;
			}
		}
	}
	return { unions, meant };
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
		case 'pattern': {
			const form = (error.parentSchema as { 'x-form'?: string } | undefined)?.['x-form'];
			return fault(at, 'bad-format', `must be ${form ?? 'of the form that the documentation describes'}.`);
		}
		default:
			return fault(at, 'bad-format', `must have the form that the documentation describes (${keyword}).`);
	}
}

const FORMATS: Readonly<Record<string, string>> = { uuid: 'a UUID' };

function fault(pointer: string, code: FaultCode, detail: string): Fault {
	return { pointer, code, detail: detail.startsWith('There') ? detail : `${fieldAt(pointer)} ${detail}` };
}

/** The field as a sentence begins with it; an entry of a list with the name of the list: `to[1]`. */
export function fieldAt(pointer: string): string {
	if (pointer === '') return 'The body';
	const [name = '', list] = pointer.split('/').reverse();
	const isEntry = /^[0-9]+$/.test(name) && list !== undefined && list !== '';
	return `\`${isEntry ? `${clip(unescaped(list))}[${name}]` : clip(unescaped(name))}\``;
}

/** A JSON Pointer one step further (RFC 6901). */
export function child(pointer: string, key: string | number): string {
	return `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function unescaped(step: string): string {
	return step.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** A name that a caller gave, short enough to be shown; one that holds an address is not. */
export function clip(text: string): string {
	if (text.includes('@')) return '…';
	return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function named(type: string): string {
	return type === 'null' ? 'null' : type === 'integer' ? 'a whole number' : /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function listed(words: readonly string[]): string {
	return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1) ?? ''}`;
}
