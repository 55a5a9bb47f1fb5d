import type { Outcome } from '@tidings/model';
import type { SmtpMail, SmtpRecipient } from '../mail.js';
import { openTransport, type SmtpConfig, type SmtpTransport, type SmtpTransportOptions } from '../transport.js';

export const ann = 'ann@example.org';
export const bo = 'bo@example.org';

const toClose: { close(): Promise<void> }[] = [];

/** Remembers what `closeAll` closes, the newest first. */
export function closeLater<T extends { close(): Promise<void> }>(one: T): T {
	toClose.push(one);
	return one;
}

/** For `afterEach`: nothing that a test opened outlives it. */
export async function closeAll(): Promise<void> {
	for (const one of toClose.splice(0).reverse()) await one.close();
}

/** A transport to a port of this machine, under another name. */
export function transportTo(port: number, config: Partial<SmtpConfig> = {}, options: Partial<SmtpTransportOptions> = {}): SmtpTransport {
	const whole: SmtpConfig = { host: 'mail.example.test', port, security: 'none', auth: null, dkim: null, slots: 2, ...config };
	const resolveHost: SmtpTransportOptions['resolveHost'] = async () => ({ kind: 'allowed', addresses: ['127.0.0.1'] });
	return closeLater(openTransport(whole, { resolveHost, log: { warn: () => undefined }, ...options }));
}

/** A plain mail to these addresses, numbered from 0. */
export function mailTo(addresses: readonly string[], change: Partial<SmtpMail> = {}): SmtpMail {
	return {
		recordId: '01890a5d-ac96-774b-bcce-b302099a8057',
		date: new Date('2026-03-01T10:20:30Z'),
		from: { address: 'shop@example.com', name: 'Shop' },
		replyTo: null,
		recipients: addresses.map((address, n): SmtpRecipient => ({ n, role: 'to', address, name: '', open: true })),
		subject: 'Hello',
		text: 'One\n.\n..two\n',
		html: null,
		headers: {},
		attachments: [],
		...change,
	};
}

/** The outcomes in short: number, category or `accepted`, stage, code, enhanced code. Throws unless the mail was answered. */
export function inShort(outcome: Outcome): string[] {
	if (outcome.kind !== 'answered') throw new Error(`expected an answer, got ${JSON.stringify(outcome)}`);
	return outcome.recipients.map((one) =>
		one.kind === 'refused'
			? [one.n, one.category, one.stage, one.code ?? '-', one.enhancedCode ?? '-'].join(' ')
			: `${one.n} accepted ${one.code}`,
	);
}
