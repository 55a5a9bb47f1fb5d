import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** A message as the witness reads and writes it. */
export type WitnessMessage = { readonly payload: Buffer; readonly properties: Readonly<Record<string, string>> };

const OWN_PYTHON = join(import.meta.dirname, '../../node_modules/.cache/tidings-python/bin/python');

/** The Python that has Pulsar's official client: that of `.ci/run`, else the system's. Null when neither has it. */
export function findWitness(): string | null {
	const candidates = [...(existsSync(OWN_PYTHON) ? [OWN_PYTHON] : []), 'python3'];
	return candidates.find((python) => spawnSync(python, ['-c', 'import pulsar']).status === 0) ?? null;
}

/** Where the broker of a topic speaks Pulsar's binary protocol (`pulsar://…`), as the broker at `webUrl` says. `topic` is its full name. */
export async function findServiceUrl(webUrl: string, topic: string): Promise<string> {
	const response = await fetch(`${webUrl}/lookup/v2/topic/${topic.replace('://', '/')}`);
	const { brokerUrl }: { brokerUrl?: string } = JSON.parse(await response.text());
	if (brokerUrl === undefined) throw new Error(`Pulsar knows no broker of ${topic}`);
	return brokerUrl;
}

/** Has the witness ack `count` messages of a subscription and resolves with them. `topic` is its full name. */
export async function witnessReads(
	python: string,
	from: { readonly serviceUrl: string; readonly topic: string; readonly subscription: string; readonly count: number },
): Promise<WitnessMessage[]> {
	const output = await runWitness(python, ['read', from.serviceUrl, from.topic, from.subscription, String(from.count)], '');
	// The client logs to standard output, too.
	const messages: { payload: string; properties: Record<string, string> }[] = JSON.parse(output.trimEnd().split('\n').at(-1) ?? '');
	return messages.map(({ payload, properties }) => ({ payload: Buffer.from(payload, 'base64'), properties }));
}

/** Has the witness publish messages. `topic` is its full name. */
export async function witnessWrites(
	python: string,
	to: { readonly serviceUrl: string; readonly topic: string; readonly messages: readonly WitnessMessage[] },
): Promise<void> {
	const messages = to.messages.map(({ payload, properties }) => ({ payload: payload.toString('base64'), properties }));
	await runWitness(python, ['write', to.serviceUrl, to.topic], JSON.stringify(messages));
}

async function runWitness(python: string, args: readonly string[], input: string): Promise<string> {
	const child = spawn(python, [join(import.meta.dirname, 'witness.py'), ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
	const output = { stdout: '', stderr: '' };
	for (const stream of ['stdout', 'stderr'] as const)
		child[stream].setEncoding('utf8').on('data', (text: string) => {
			output[stream] += text;
		});
	child.stdin.end(input);
	const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
	if (code !== 0) throw new Error(`the witness failed (${code}):\n${output.stderr}${output.stdout}`);
	return output.stdout;
}
