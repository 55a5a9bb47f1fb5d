import { CONTENTS as C } from './marks.js';

/** A mailbox whose local part holds a mark and tells a fate, which sinks go by. */
export const address = (mark: string, fate = 'x'): string => `${mark}-${fate}+tag@example.com`;

/** A mail that is marked all over. */
export function mail(fate: string, change: object = {}): object {
	return {
		to: [{ address: address(C.receiver, fate), name: `${C.personName} 王` }],
		cc: [address(C.copied, fate)],
		bcc: [address(C.hidden, fate)],
		replyTo: address(C.answerTo),
		from: { address: address(C.sender), name: C.senderName },
		subject: `${C.subjectText} ü`,
		text: `${C.bodyText} ü`,
		html: `<p>${C.htmlText} ü</p>`,
		attachments: [{ filename: `${C.fileName}.txt`, contentType: 'text/plain', content: Buffer.from(C.fileContent).toString('base64') }],
		headers: { 'X-Note': C.headerValue },
		metadata: { note: C.metadata },
		dedupeKey: `${C.dedupeKey}-${fate}`,
		...change,
	};
}

/** A mail server on this machine, marked all over. */
export const serverOf = (port: number, name: string, change: object): object => ({
	name: `${C.serverName} ${name}`,
	host: '127.0.0.1',
	port,
	security: 'none',
	from: { address: address(C.serverSender), name: C.senderName },
	allowedFrom: ['*@example.com'],
	default: false,
	active: true,
	...change,
});

const MISTYPED = ['priority', 'notBefore', 'serverId', 'headers', 'metadata', 'attachments', 'scope', 'template'];

/** Mails with an address or a content where it must not be. */
export function badMails(): object[] {
	const wrong = address(C.misplaced);
	return [
		...[...MISTYPED, wrong].map((field) => mail('bad', { [field]: wrong })),
		mail('bad', { type: [wrong], dedupeKey: [wrong] }),
		mail('bad', { to: `${wrong}, ${wrong}` }),
		mail('bad', { to: [`${wrong} ${wrong}`, `${C.misplaced}@@example`, { address: wrong, name: `${C.misplaced}\r\n` }] }),
		mail('bad', { subject: `${C.misplaced}\n`, headers: { [`${C.misplaced}:`]: wrong, 'X-A': `${C.misplaced}\r\nBcc: ${wrong}` } }),
		mail('bad', { from: `${C.misplaced}@elsewhere.example` }),
		mail('bad', { attachments: [{ filename: C.misplaced, content: `%${C.misplaced}` }] }),
		mail('late', { subject: C.misplaced }),
	];
}

/** What makes a mail server wrong, with a secret in each. */
export const badServers = (secret: string): object[] => [
	{ password: [secret] },
	{ username: 'u', password: `${secret}\n` },
	{ password: secret },
	{ username: { secret }, host: `u:${secret}@h` },
	{ unknown: secret },
	{ dkim: { domain: secret, selector: secret, privateKey: secret } },
];
