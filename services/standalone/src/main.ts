import { VERSION } from '@tidings/model';
import { createLogger, createMetrics } from '@tidings/telemetry';
import { readConfig } from './config.js';
import { factsFile, prepare } from './prepare.js';
import { runAll } from './run-all.js';

const config = readConfig();
const log = createLogger({ service: 'standalone', level: config.settings.LOG_LEVEL });
const metrics = createMetrics({ service: 'standalone', version: VERSION });

// Until the services run, a signal ends the process at once; the database goes with it.
const leave = (): never => process.exit(130);
process.once('SIGINT', leave).once('SIGTERM', leave);
try {
	const ground = await prepare(config.flags, factsFile(config.flags), { log, metrics });
	process.off('SIGINT', leave).off('SIGTERM', leave);
	await runAll(ground, config, { log, metrics });
} catch (error) {
	process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
	log.debug({ err: error }, 'standalone could not start');
	process.exit(1);
}
