// Sends one mail and waits for its end: see README.md.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

type Accepted = { id: string };
type Message = {
	status: string;
	reason: string | null;
	lastError: { code: string | null; enhancedCode: string | null; text: string | null } | null;
};
type Problem = { code: string; detail: string; errors: { pointer: string; code: string; detail: string }[] };

const TRIES = 7;
const PATIENCE_MS = 30_000;
const OPEN = ['PENDING', 'SENDING', 'RETRY'];

const { TIDINGS_API: api, TIDINGS_API_KEY: key } = process.env;
const recipients = process.argv.slice(2);

async function main(): Promise<number> {
	if (api === undefined || key === undefined || recipients.length !== 1) {
		console.error('usage: TIDINGS_API=http://… TIDINGS_API_KEY=tdg_… npx tsx first-mail.ts RECIPIENT');
		return 2;
	}
	const accepted = await call('/v1/mails', {
		method: 'POST',
		headers: { 'Content-Type': 'application/json', 'Idempotency-Key': randomUUID() },
		body: JSON.stringify({ to: recipients, subject: 'A first mail', text: 'It works.' }),
	});
	if (!accepted.ok) return refused((await accepted.json()) as Problem);
	const { id } = (await accepted.json()) as Accepted;
	for (;;) {
		const read = await call(`/v1/messages/${id}`);
		if (!read.ok) return refused((await read.json()) as Problem);
		const message = (await read.json()) as Message;
		if (!OPEN.includes(message.status)) return ended(message);
		await pause(1_000);
	}
}

/** Calls the API. What may succeed later is repeated; the Idempotency-Key sees to it that no mail is accepted twice. */
async function call(path: string, request: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> {
	const headers = { ...request.headers, Authorization: `Bearer ${key}` };
	for (let tried = 1; ; tried++) {
		// No answer: nobody knows whether the request arrived.
		const answer = await fetch(`${api}${path}`, { ...request, headers, signal: AbortSignal.timeout(PATIENCE_MS) }).catch(String);
		if (typeof answer !== 'string' && !(await mayBeRepeated(answer))) return answer;
		if (tried === TRIES) throw new Error(typeof answer === 'string' ? answer : `status ${answer.status}`);
		const wanted = typeof answer === 'string' ? 0 : Number(answer.headers.get('Retry-After'));
		await pause(1_000 * (wanted || 2 ** (tried - 1)));
	}
}

async function mayBeRepeated(answer: Response): Promise<boolean> {
	if (answer.status === 429 || answer.status >= 500) return true;
	// The request before this one is still being worked on.
	return answer.status === 409 && ((await answer.clone().json()) as Problem).code === 'idempotency-in-flight';
}

function refused({ code, detail, errors }: Problem): number {
	console.error(`refused: ${code}: ${detail}`);
	for (const fault of errors) console.error(`  ${fault.pointer} ${fault.code}: ${fault.detail}`);
	return 2;
}

function ended({ status, reason, lastError }: Message): number {
	if (status === 'SENT') {
		console.log('sent');
		return 0;
	}
	const words = lastError === null ? [reason] : [lastError.code, lastError.enhancedCode, lastError.text];
	console.log(`not sent: ${status}: ${words.filter((word) => word).join(' ')}`);
	return 1;
}

main().then(
	(code) => {
		process.exitCode = code;
	},
	(error) => {
		console.error(`given up on ${api}: ${error}`);
		process.exitCode = 1;
	},
);
