import { parseArgs } from 'node:util';
import { type Broker, CONTRACT, openBroker } from '@tidings/broker';
import { createNamespace } from '../harness/namespace.js';
import { startPulsar } from '../harness/pulsar.js';
import { signPulsarToken } from '../harness/pulsar-token.js';
import { BROKER_FAULTS } from './broker-faults.js';
import { hasOfficialClient, openDriver, type PulsarDriver } from './driver.js';
import { NETWORK_FAULTS } from './network-faults.js';
import { TOKEN_FAULTS } from './token-faults.js';

// `npm run contract -- --driver DRIVER`: the rules of the broker port, one line each. The broker is the one that BROKER_URL names; without it one is started,
// and then the driver also has to live through its faults.

const USAGE = 'usage: npm run contract -- --driver embedded|websocket|pulsar';
const SECRET = Buffer.alloc(32, 'tidings');
const SILENT = { error: () => undefined };
const SCHEMES = { websocket: /^wss?:/, pulsar: /^pulsar(\+ssl)?:/ };

/** A rule and how it is tried. */
type Trial = { readonly name: string; run(): Promise<void> };

process.exitCode = await main();

async function main(): Promise<number> {
	const driver = readDriver();
	if (driver === 'embedded')
		return report(await runAll(contract(() => openBroker({ url: 'embedded:', namespace: 'contract', log: SILENT }))));
	if (driver !== 'websocket' && driver !== 'pulsar') {
		console.error(USAGE);
		return 64;
	}
	if (driver === 'pulsar' && !(await hasOfficialClient())) {
		console.log('not run: pulsar-client is not installed');
		return 0;
	}
	const { BROKER_URL: url } = process.env;
	if (url === undefined) return report(await runOnOwnBroker(driver));
	if (!SCHEMES[driver].test(url)) {
		console.error(`BROKER_URL is not of the driver ${driver}`);
		return 64;
	}
	console.log('not run: what happens when the broker breaks; that needs a broker of its own, without BROKER_URL');
	return report(await runOnGiven(url));
}

function readDriver(): string | undefined {
	try {
		return parseArgs({ options: { driver: { type: 'string' } } }).values.driver;
	} catch {
		return undefined;
	}
}

function contract(open: () => Promise<Broker>): Trial[] {
	return CONTRACT.map(({ name, run }) => ({ name, run: () => run(open) }));
}

/** On the broker that the environment names, by the settings of a service; without BROKER_NAMESPACE in a namespace of its own. */
async function runOnGiven(url: string): Promise<Count> {
	const { BROKER_NAMESPACE: given, BROKER_TOKEN: token, PULSAR_ADMIN_URL: adminUrl = url.replace(/^ws/, 'http') } = process.env;
	const made = given === undefined ? await createNamespace(adminUrl, token) : undefined;
	const namespace = made?.namespace ?? given ?? '';
	const open = () => openBroker({ url, namespace, token, adminUrl, log: SILENT });
	return await runAll(contract(open)).finally(() => made?.drop());
}

async function runOnOwnBroker(driver: PulsarDriver): Promise<Count> {
	const open = await startPulsar();
	const { namespace } = await createNamespace(open.webUrl);
	const faults = [...BROKER_FAULTS, ...(driver === 'websocket' ? NETWORK_FAULTS : [])];
	const first = await runAll([
		...contract(() => openDriver(driver, open, { namespace })),
		...faults.map(({ name, run }) => ({ name, run: () => run({ driver, pulsar: open, namespace }) })),
	]).finally(() => open.stop());

	const guarded = await startPulsar({ tokenSecret: SECRET });
	const place = await createNamespace(guarded.webUrl, signPulsarToken(SECRET, 'admin'));
	const bench = { driver, pulsar: guarded, namespace: place.namespace, secret: SECRET };
	const second = await runAll(TOKEN_FAULTS.map(({ name, run }) => ({ name, run: () => run(bench) }))).finally(() => guarded.stop());
	return { passed: first.passed + second.passed, failed: first.failed + second.failed };
}

type Count = { readonly passed: number; readonly failed: number };

/** Tries one rule after the other and prints a line for each. */
async function runAll(trials: readonly Trial[]): Promise<Count> {
	let failed = 0;
	for (const { name, run } of trials) {
		try {
			await run();
			console.log(`ok      ${name}`);
		} catch (error) {
			failed++;
			console.log(`FAILED  ${name}\n${error instanceof Error ? error.stack : String(error)}`);
		}
	}
	return { passed: trials.length - failed, failed };
}

function report({ passed, failed }: Count): number {
	console.log(`${passed} passed, ${failed} failed`);
	return failed === 0 ? 0 : 1;
}
