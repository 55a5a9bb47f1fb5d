import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from './eventually.js';
import { collectPulsarJars } from './pulsar-jars.js';
import { signPulsarToken } from './pulsar-token.js';

/** How a broker of our own is set up. */
export type PulsarOptions = {
	/** Lines of broker configuration that replace or add to pulsar/standalone.conf. Topics are not created by themselves unless `allowAutoTopicCreation` says so. */
	readonly config?: Readonly<Record<string, string>>;
	/** Tokens are demanded, signed with this secret (32 bytes; `signPulsarToken`). The role `admin` may do everything, any other role nothing. Default: nobody is asked. */
	readonly tokenSecret?: Buffer;
};

/** A Pulsar of our own in one process. Its addresses and its data stay the same until `stop`. */
export type TestPulsar = {
	/** The admin API, such as `http://127.0.0.1:8080`. */
	readonly webUrl: string;
	/** The WebSocket API: the same server. */
	readonly wsUrl: string;
	/** The binary protocol, `pulsar://`. */
	readonly serviceUrl: string;
	/** The process that runs now, or ran last: for SIGSTOP and SIGCONT. */
	pid(): number;
	/** Ends the process by kill -9 and resolves when it is gone. Does nothing when it is gone already. */
	kill(): Promise<void>;
	/** Starts it again, on the same addresses and data, and resolves when it answers. Kills it first when it still runs. `config`: further lines, for this start. */
	restart(config?: Readonly<Record<string, string>>): Promise<void>;
	/** Ends it and removes its data. */
	stop(): Promise<void>;
};

type Addresses = { readonly webUrl: string; readonly serviceUrl: string };

/** How long a start may take in milliseconds; a few seconds are usual, half a minute when the machine is busy. */
const START_LIMIT_MS = 180_000;

const KIT = join(import.meta.dirname, 'pulsar');

// Waits until nobody holds its standard input any more, ends the broker of which it was told last, and clears away.
const KEEPER = `
while read -r line; do jvm=$line; done
if [ -n "$jvm" ]; then
	kill -9 "$jvm" 2>/dev/null
	tries=0
	while kill -0 "$jvm" 2>/dev/null && [ $tries -lt 50 ]; do tries=$((tries + 1)); sleep 0.1; done
fi
rm -rf "$DIR"
`;

/**
 * Starts a fresh Pulsar on free ports. It lives as long as this process: it ends when its standard input does, and a keeper sees to that and removes its data, also
 * after kill -9 of this process. Resolves when a message went through it. Rejects with what to install, or with the broker's log, when it does not start.
 */
export async function startPulsar(options: PulsarOptions = {}): Promise<TestPulsar> {
	const jars = await collectPulsarJars();
	const folder = mkdtempSync(join(tmpdir(), 'tidings-pulsar-'));
	// Process groups of their own: an interrupt from the keyboard ends the tests, and their end stops these.
	const keeper = spawn('sh', ['-c', KEEPER], { env: { ...process.env, DIR: folder }, detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
	keeper.unref();
	unrefStream(keeper.stdin);
	let jvm: ChildProcess | undefined;

	const kill = async (): Promise<void> => {
		if (jvm === undefined || jvm.exitCode !== null || jvm.signalCode !== null) return;
		jvm.ref();
		const gone = once(jvm, 'exit');
		jvm.kill('SIGKILL');
		await gone;
		// Its number may soon be somebody else's.
		keeper.stdin.write('\n');
	};
	const stop = async (): Promise<void> => {
		await kill();
		keeper.ref();
		const gone = keeper.exitCode === null && keeper.signalCode === null ? once(keeper, 'exit') : undefined;
		keeper.stdin.end();
		await gone;
	};
	const start = async (more: Readonly<Record<string, string>>): Promise<Addresses> => {
		const settings = Object.entries({ ...configOf(options), ...more }).map(([key, value]) => `${key}=${value}`);
		jvm = launch({ jars, folder, settings });
		keeper.stdin.write(`${jvm.pid ?? ''}\n`);
		const addresses = await readAddresses(jvm, folder);
		await eventually(() => answers(addresses.webUrl, options.tokenSecret), { within: START_LIMIT_MS, what: 'a message through Pulsar' });
		return addresses;
	};

	try {
		const { webUrl, serviceUrl } = await start({});
		const ports = { webServicePort: new URL(webUrl).port, brokerServicePort: new URL(serviceUrl).port };
		return {
			webUrl,
			wsUrl: webUrl.replace(/^http/, 'ws'),
			serviceUrl,
			pid: () => jvm?.pid ?? 0,
			kill,
			restart: async (config = {}) => {
				await kill();
				await start({ ...config, ...ports });
			},
			stop,
		};
	} catch (error) {
		await stop();
		throw error;
	}
}

function configOf({ config, tokenSecret }: PulsarOptions): Record<string, string> {
	if (tokenSecret === undefined) return { ...config };
	return {
		authenticationEnabled: 'true',
		authorizationEnabled: 'true',
		authenticationProviders: 'org.apache.pulsar.broker.authentication.AuthenticationProviderToken',
		tokenSecretKey: `data:;base64,${tokenSecret.toString('base64')}`,
		superUserRoles: 'admin',
		// The broker's own WebSocket server is a client of the broker, too.
		brokerClientAuthenticationPlugin: 'org.apache.pulsar.client.impl.auth.AuthenticationToken',
		brokerClientAuthenticationParameters: `token:${signPulsarToken(tokenSecret, 'admin')}`,
		...config,
	};
}

function launch({ jars, folder, settings }: { jars: string; folder: string; settings: readonly string[] }): ChildProcess {
	const flags = [`@${join(KIT, 'jvm.args')}`, `-Dlog4j.configurationFile=${join(KIT, 'log4j2.xml')}`, '-cp', `${jars}/*`];
	const program = [join(KIT, 'Launcher.java'), join(KIT, 'standalone.conf'), join(folder, 'data'), ...settings];
	return spawn('java', [...flags, ...program], { detached: true, stdio: ['pipe', 'pipe', openSync(join(folder, 'log'), 'a')] });
}

/** Waits for the one line that the launcher prints; afterwards the process holds nobody back from ending. */
async function readAddresses(jvm: ChildProcess, folder: string): Promise<Addresses> {
	const { stdout } = jvm;
	if (stdout === null) throw new Error('no pipe');
	const timer = setTimeout(() => jvm.kill('SIGKILL'), START_LIMIT_MS);
	try {
		return await new Promise((resolve, reject) => {
			jvm.once('error', (cause) =>
				reject(new Error('Java cannot be started. Install a JDK, 17.0.17 or later: the package "openjdk-17-jdk-headless".', { cause })),
			);
			jvm.once('exit', (code, signal) =>
				reject(new Error(`Pulsar did not start (${code ?? signal}). Mind that it needs a JDK, not only a JRE.\n${tailOf(folder)}`)),
			);
			createInterface({ input: stdout }).once('line', (line) => {
				const { web, broker }: { web: string; broker: string } = JSON.parse(line);
				resolve({ webUrl: web, serviceUrl: broker });
			});
		});
	} finally {
		clearTimeout(timer);
		jvm.unref();
		unrefStream(jvm.stdin);
		unrefStream(stdout);
	}
}

function tailOf(folder: string): string {
	return readFileSync(join(folder, 'log'), 'utf8').slice(-4_000);
}

/** Whether the broker knows its namespace and a message goes through it: it publishes and reads one for this answer. */
async function answers(webUrl: string, tokenSecret: Buffer | undefined): Promise<boolean> {
	const headers = tokenSecret === undefined ? {} : { authorization: `Bearer ${signPulsarToken(tokenSecret, 'admin')}` };
	const ask = async (path: string): Promise<Response> =>
		await fetch(`${webUrl}/admin/v2/${path}`, { headers, signal: AbortSignal.timeout(30_000) });
	const namespaces = await ask('namespaces/public');
	if (!namespaces.ok || !(await namespaces.text()).includes('public/default')) return false;
	const health = await ask('brokers/health?topicVersion=V2');
	await health.arrayBuffer();
	return health.ok;
}

function unrefStream(stream: object | null): void {
	if (stream !== null && 'unref' in stream && typeof stream.unref === 'function') stream.unref();
}
