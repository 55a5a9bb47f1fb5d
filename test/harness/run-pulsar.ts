import { createServer } from 'node:http';
import { startPulsar, type TestPulsar } from './pulsar.js';

/** The web address (`http://…`) of the Pulsar of this test run: the one that its caller names, else the one that its set-up starts, now if need be. */
export async function pulsarOfRun(): Promise<string> {
	const { TIDINGS_TEST_PULSAR_URL: url, TIDINGS_TEST_PULSAR_STARTER: starter } = process.env;
	if (url !== undefined) return url.replace(/\/$/, '');
	if (starter === undefined)
		throw new Error('There is no test Pulsar: run through Jest, or set TIDINGS_TEST_PULSAR_URL to its web address.');
	const response = await fetch(starter);
	const text = await response.text();
	if (!response.ok) throw new Error(text);
	return text;
}

/** Offers one Pulsar to the test processes of this run: the first that asks at `url` has it started, and every one gets its web address. */
export async function offerPulsar(): Promise<{ readonly url: string; stop(): Promise<void> }> {
	let started: Promise<TestPulsar> | undefined;
	const server = createServer((_request, response) => {
		started ??= startPulsar();
		started.then(
			(pulsar) => response.end(pulsar.webUrl),
			(error: unknown) => response.writeHead(500).end(error instanceof Error ? error.message : String(error)),
		);
	});
	await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
	server.unref();
	const address = server.address();
	if (address === null || typeof address === 'string') throw new Error('no port');
	return {
		url: `http://127.0.0.1:${address.port}`,
		stop: async () => {
			server.close();
			server.closeAllConnections();
			await started?.then(
				(pulsar) => pulsar.stop(),
				() => undefined,
			);
		},
	};
}
