import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type SmtpSink, startSmtpSink } from './smtp-sink.js';

let sink: SmtpSink;
let client: ReturnType<typeof open>;

beforeEach(async () => {
	sink = await startSmtpSink();
	client = open(sink.port);
});

afterEach(async () => {
	client.socket.destroy();
	await sink.close();
});

/** A client that sends what it is told and reads whole replies; 'end' when the server has cut the line. */
function open(port: number): { socket: Socket; reply(): Promise<string>; ask(line: string): Promise<string> } {
	const socket = connect(port, '127.0.0.1').setEncoding('utf8');
	const replies: string[] = [];
	const waiting: ((reply: string) => void)[] = [];
	let text = '';
	const give = (reply: string) => {
		const next = waiting.shift();
		if (next) next(reply);
		else replies.push(reply);
	};
	socket.on('data', (chunk: string) => {
		text += chunk;
		for (let match = /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/.exec(text); match; match = /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/.exec(text)) {
			text = text.slice(match[0].length);
			give(match[0].trimEnd());
		}
	});
	socket.on('error', () => undefined).on('close', () => give('end'));
	const reply = () =>
		new Promise<string>((resolve) => {
			const ready = replies.shift();
			if (ready === undefined) waiting.push(resolve);
			else resolve(ready);
		});
	const ask = (line: string) => {
		socket.write(`${line}\r\n`);
		return reply();
	};
	return { socket, reply, ask };
}

async function upToData(...to: string[]): Promise<string> {
	await client.reply();
	await client.ask('EHLO me');
	await client.ask('MAIL FROM:<me@example.com> BODY=8BITMIME');
	for (const one of to) await client.ask(`RCPT TO:<${one}>`);
	return await client.ask('DATA');
}

test('a mail is kept byte for byte, with its envelope and Message-ID', async () => {
	await upToData('a@example.com', 'b@example.com');
	const content = 'Subject: x\r\nMessage-Id: <1@example.com>\r\n\r\n..two dots\r\n.\tone\r\n字\r\n';
	expect(await client.ask(`${content.replace(/^\./gm, '..')}.`)).toBe('250 2.0.0 kept as 1');
	expect(sink.mails).toEqual([
		{
			messageId: '<1@example.com>',
			from: 'me@example.com',
			to: ['a@example.com', 'b@example.com'],
			raw: Buffer.from(content),
			at: expect.any(Date),
		},
	]);
});

test('pipelined commands are answered in order', async () => {
	client.socket.write('EHLO me\r\nMAIL FROM:<me@example.com>\r\nRCPT TO:<a@example.com>\r\nDATA\r\n.\r\nQUIT\r\n');
	const replies = [];
	for (let reply = await client.reply(); reply !== 'end'; reply = await client.reply()) replies.push(reply.slice(0, 3));
	expect(replies).toEqual(['220', '250', '250', '250', '354', '250', '221']);
	expect(sink.mails[0]?.raw.length).toBe(0);
});

test('a refusal is said at its stage, to its recipient, as often as it is told', async () => {
	sink.script({
		stage: 'RCPT',
		to: 'no@example.com',
		times: 1,
		answer: { kind: 'refuse', code: 550, enhancedCode: '5.1.1', text: 'nobody' },
	});
	await client.reply();
	await client.ask('EHLO me');
	await client.ask('MAIL FROM:<me@example.com>');
	expect(await client.ask('RCPT TO:<yes@example.com>')).toBe('250 2.1.5 ok');
	expect(await client.ask('RCPT TO:<NO@example.com>')).toBe('550 5.1.1 nobody');
	expect(await client.ask('RCPT TO:<no@example.com>')).toBe('250 2.1.5 ok');
});

test('a refusal after the dot keeps nothing', async () => {
	sink.script({ stage: 'DOT', to: /^a@/, answer: { kind: 'refuse', code: 451 } });
	await upToData('a@example.com');
	expect(await client.ask('x\r\n.')).toBe('451 no');
	expect(sink.mails).toEqual([]);
});

test('a hanging stage answers when it is released', async () => {
	const hang = sink.script({ stage: 'DOT', answer: { kind: 'hang' } });
	await upToData('a@example.com');
	const answered = client.ask('x\r\n.');
	await hang.met();
	expect(sink.mails).toEqual([]);
	hang.release();
	expect(await answered).toBe('250 2.0.0 kept as 1');
	expect(hang.hits).toBe(1);
});

test.each([
	['drops the mail', false, 0],
	['keeps the mail', true, 1],
])('a connection cut after the dot %s', async (_how, kept, mails) => {
	sink.script({ stage: 'DOT', answer: { kind: 'close', kept } });
	await upToData('a@example.com');
	expect(await client.ask('x\r\n.')).toBe('end');
	expect(sink.mails).toHaveLength(mails);
});

test('a connection can be cut on the first byte of the content', async () => {
	const cut = sink.script({ stage: 'BODY', answer: { kind: 'close' } });
	expect(await upToData('a@example.com')).toBe('354 go on');
	client.socket.write('x');
	expect(await client.reply()).toBe('end');
	expect(cut.hits).toBe(1);
});

test('nobody sends without the log-in that is asked for', async () => {
	const guarded = await startSmtpSink({ login: { username: 'u', password: 'p' } });
	const guest = open(guarded.port);
	await guest.reply();
	expect(await guest.ask('EHLO me')).toMatch(/AUTH PLAIN$/);
	expect(await guest.ask('MAIL FROM:<me@example.com>')).toMatch(/^530/);
	const login = (password: string) => `AUTH PLAIN ${Buffer.from(`\0u\0${password}`).toString('base64')}`;
	expect(await guest.ask(login('q'))).toMatch(/^535/);
	expect(await guest.ask(login('p'))).toMatch(/^235/);
	expect(await guest.ask('MAIL FROM:<me@example.com>')).toMatch(/^250/);
	guest.socket.destroy();
	await guarded.close();
});
