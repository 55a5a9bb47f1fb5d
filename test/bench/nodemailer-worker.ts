import { createTransport } from 'nodemailer';
import { mailOf } from './mail.js';
import { stretch } from './measure.js';

// nodemailer alone: the same mails through a pool of as many connections.
const [port = '0', count = '0'] = process.argv.slice(2);
const transport = createTransport({
	pool: true,
	host: '127.0.0.1',
	port: Number(port),
	ignoreTLS: true,
	maxConnections: 20,
	maxMessages: 500,
});
const run = async (mails: number): Promise<number> => {
	let next = 0;
	const one = async (): Promise<void> => {
		while (next < mails) {
			const mail = mailOf(next++);
			await transport.sendMail({
				from: { address: 'shop@example.com', name: 'Shop' },
				to: [{ address: 'ann@example.com', name: '' }],
				...mail,
			});
		}
	};
	await Promise.all(Array.from({ length: 40 }, one));
	return mails;
};
await run(1_000);
const sent = await stretch(() => run(Number(count)));
process.stdout.write(`${JSON.stringify({ sent })}\n`);
process.exit(0);
