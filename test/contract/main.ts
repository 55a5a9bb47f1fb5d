import { parseArgs } from 'node:util';
import { CONTRACT, type MakeBroker, openBroker } from '@tidings/broker';

const USAGE = 'usage: npm run contract -- --driver embedded|websocket|pulsar';

/** How a broker of each driver is opened; null where this release has no such driver. */
const DRIVERS = new Map<string | undefined, MakeBroker | null>([
	['embedded', () => openBroker({ url: 'embedded:', namespace: 'contract', log: { error: () => undefined } })],
	['websocket', null],
	['pulsar', null],
]);

process.exitCode = await main();

async function main(): Promise<number> {
	const driver = readDriver();
	const makeBroker = DRIVERS.get(driver);
	if (makeBroker === undefined) {
		console.error(USAGE);
		return 64;
	}
	if (makeBroker === null) {
		console.log(`not run: ${driver} is not available in this release`);
		return 0;
	}
	return (await runContract(makeBroker)) === 0 ? 0 : 1;
}

function readDriver(): string | undefined {
	try {
		return parseArgs({ options: { driver: { type: 'string' } } }).values.driver;
	} catch {
		return undefined;
	}
}

/** Runs every case, one after the other, prints a line for each, and returns how many failed. */
async function runContract(makeBroker: MakeBroker): Promise<number> {
	let failed = 0;
	for (const { name, run } of CONTRACT) {
		try {
			await run(makeBroker);
			console.log(`ok      ${name}`);
		} catch (error) {
			failed++;
			console.log(`FAILED  ${name}\n${error instanceof Error ? error.stack : String(error)}`);
		}
	}
	console.log(`${CONTRACT.length - failed} passed, ${failed} failed`);
	return failed;
}
