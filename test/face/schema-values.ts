import { generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';

type Schema = Readonly<Record<string, unknown>>;

/** Stands in secrets that are sent: no answer may hold it. */
export const SECRET_MARKER = 'quokka-secret';

const DOMAINS = ['example.com', 'sub.example.com', 'EXAMPLE.com', 'bücher.example', 'xn--bcher-kva.example'];
const LOCALS = ['ann', 'bo.b', 'cy+tag', 'dö'];
const TEXTS = [
	'plain',
	'Bo 王',
	'é e\u0301 ñ',
	'𝔘𝔫𝔦 👩‍👩‍👧',
	'عربى ‏',
	'O\'Hara; -- "x" <b>&amp;</b> ${x} {{y}}',
	'\\ / % _ * ?',
	'a'.repeat(60),
];
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

const text = fc.constantFrom(...TEXTS);
/** Nobody may stand twice in a mail, so that there are many of them. */
const address = fc
	.tuple(fc.constantFrom(...LOCALS), fc.nat({ max: 1_000_000 }), fc.constantFrom(...DOMAINS))
	.map(([local, n, domain]) => `${local}${n}@${domain}`);
const mailbox = fc.oneof(address, fc.record({ address, name: text }, { requiredKeys: ['address'] }));
const futureTime = fc.integer({ min: 3_600, max: 60 * 86_400 }).map((seconds) => new Date(Date.now() + seconds * 1_000).toISOString());

/** Fields whose right values no schema tells, by their names. */
const BY_NAME: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
	to: fc.array(mailbox, { minLength: 1, maxLength: 4 }),
	cc: fc.array(mailbox, { maxLength: 2 }),
	bcc: fc.array(mailbox, { maxLength: 2 }),
	replyTo: mailbox,
	from: fc.record({ address: fc.constant('hello@example.com'), name: text }, { requiredKeys: ['address'] }),
	allowedFrom: fc.constantFrom(['*@example.com'], ['hello@example.com', '*@example.com']),
	host: fc.constantFrom('127.0.0.1', '10.1.2.3', 'localhost'),
	domain: fc.constantFrom('example.com', 'bücher.example'),
	selector: fc.constantFrom('s1', 'k-2'),
	privateKey: fc.constant(PEM),
	password: fc.constantFrom(SECRET_MARKER, `${SECRET_MARKER} é`),
	content: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('base64')),
	contentType: fc.constantFrom('text/plain', 'application/pdf', 'image/png'),
	contentId: fc.nat({ max: 1_000_000 }).map((n) => `logo${n}`),
	headers: fc.dictionary(fc.constantFrom('X-Campaign', 'X-A', 'List-Id'), fc.constantFrom('autumn', '<a.example.com>'), { maxKeys: 3 }),
	notBefore: futureTime,
	validUntil: futureTime.map((time) => new Date(Date.parse(time) + 61 * 86_400_000).toISOString()),
	expiresAt: futureTime,
	ratePerMinute: fc.constantFrom(null, 0, 60),
	dailyLimit: fc.constantFrom(null, 0, 1_000),
	graceSeconds: fc.integer({ min: 0, max: 2_592_000 }),
	capabilities: fc.subarray(['messages:send', 'messages:read', 'tenant:admin'], { minLength: 1 }),
};

/** Fields that a right body leaves out: refused in this release, or about things that must exist. */
const ABSENT = new Set(['template', 'serverId', 'scope']);

/** Makes bodies that a schema allows and that mostly would be accepted. `schemas`: those that it refers to. */
export function valuesOf(schema: Schema, schemas: Readonly<Record<string, Schema>>): fc.Arbitrary<unknown> {
	if (typeof schema['$ref'] === 'string') return valuesOf(schemas[schema['$ref'].split('/').at(-1) ?? ''] ?? {}, schemas);
	if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as unknown[]));
	if (Array.isArray(schema['anyOf']) && schema['properties'] === undefined)
		return fc.oneof(...(schema['anyOf'] as Schema[]).map((one) => valuesOf(one, schemas)));
	const types = [schema['type']].flat();
	return fc.oneof(...types.map((type) => typedValues(String(type), schema, schemas)));
}

function typedValues(type: string, schema: Schema, schemas: Readonly<Record<string, Schema>>): fc.Arbitrary<unknown> {
	switch (type) {
		case 'object':
			return objects(schema, schemas);
		case 'array':
			return fc.array(valuesOf(schema['items'] as Schema, schemas), { minLength: Number(schema['minItems'] ?? 0), maxLength: 3 });
		case 'boolean':
			return fc.boolean();
		case 'integer':
			return fc.integer({ min: Number(schema['minimum'] ?? 0), max: Number(schema['maximum'] ?? 1_000_000) });
		case 'number':
			return fc.constantFrom(Number(schema['minimum'] ?? 0), 1.5, 7, Number(schema['maximum'] ?? 1e6));
		case 'null':
			return fc.constant(null);
		default:
			return text.map((value) => value.slice(0, Number(schema['maxLength'] ?? 60)));
	}
}

function objects(schema: Schema, schemas: Readonly<Record<string, Schema>>): fc.Arbitrary<unknown> {
	const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>).filter(([name]) => !ABSENT.has(name));
	if (properties.length === 0 && schema['additionalProperties'] === false) return fc.constant({});
	if (properties.length === 0) return fc.dictionary(fc.constantFrom('a', 'orderNo', 'x-y'), fc.constantFrom('1', 'A-17'), { maxKeys: 3 });
	const model = Object.fromEntries(properties.map(([name, one]) => [name, named(name, one) ?? valuesOf(one, schemas)]));
	const either = ((schema['anyOf'] ?? [{}]) as Schema[]).map((one) => {
		const required = [schema['required'] ?? [], one['required'] ?? []].flat() as string[];
		return fc.record(model, { requiredKeys: required.filter((name) => name in model) });
	});
	return fc.oneof(...either).map(agreed);
}

function named(name: string, schema: Schema): fc.Arbitrary<unknown> | undefined {
	return name === 'to' && schema['type'] === 'string' ? address : BY_NAME[name];
}

/** Takes away what contradicts the rest: half a login, and a default that is not active. */
function agreed(value: Record<string, unknown>): Record<string, unknown> {
	const { username, password, active, ...rest } = value;
	return {
		...rest,
		...(typeof username === 'string' && typeof password === 'string' ? { username, password } : {}),
		...(active === undefined || rest['default'] === true ? {} : { active }),
	};
}
