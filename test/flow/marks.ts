import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { CERTIFICATE_OF } from '../harness/foreign-tls.js';

/** Of this run alone, so that no earlier one is found. */
const RUN = randomBytes(3).toString('hex');
const marksOf = <Name extends string>(...names: readonly Name[]): Record<Name, string> =>
	Object.fromEntries(names.map((name) => [name, `mk${name.toLowerCase()}${RUN}`])) as Record<Name, string>;

/** What may stand nowhere at all. */
export const SECRETS = marksOf(
	...(['databasePassword', 'brokerToken', 'redisPassword', 'exportHeader', 'tokenSecret'] as const),
	...(['loginPassword', 'lockedPassword', 'refusedPassword'] as const),
);

/** Addresses, names and contents that may stand in the database and in what their own tenant reads, and nowhere else. */
export const STORED = {
	...marksOf(
		...(['receiver', 'copied', 'hidden', 'personName', 'answerTo', 'sender', 'senderName', 'serverSender', 'username', 'banner'] as const),
		...(['subjectText', 'bodyText', 'htmlText', 'fileName', 'fileContent', 'headerValue', 'metadata', 'dedupeKey'] as const),
		...(['idempotencyKey', 'noteText', 'poisonText', 'keyName', 'serverName', 'tenantName'] as const),
	),
	certificate: CERTIFICATE_OF,
};

/** All of them: also what only passes by and is stored nowhere. */
export const CONTENTS = {
	...STORED,
	...marksOf('searched', 'misplaced', 'notJson', 'pathText', 'headerText', 'tokenSubject'),
};

/** A key that signs mails, and what tells it in an output: a line of its text that the public key has no part in, and the start of the number that is secret. */
export function makeDkimKey(): { readonly pem: string; readonly marks: Record<string, string> } {
	const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
	const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
	const line = pem.split('\n')[15] ?? '';
	return { pem, marks: { dkimKey: line.slice(8, 48), dkimNumber: (privateKey.export({ format: 'jwk' }).d ?? '').slice(0, 40) } };
}

/** The words of an AUTH PLAIN command after the verb. */
export function plainLogin(username: string, password: string): string {
	return Buffer.from(`\0${username}\0${password}`).toString('base64');
}
