import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createNamespace } from '../harness/namespace.js';
import { startPulsar, type TestPulsar } from '../harness/pulsar.js';
import { signPulsarToken } from '../harness/pulsar-token.js';
import { hasOfficialClient, type PulsarDriver } from './driver.js';
import { TOKEN_FAULTS } from './token-faults.js';

const SECRET = Buffer.alloc(32, 'tidings');
const LIMIT_MS = 300_000;

const drivers: readonly PulsarDriver[] = (await hasOfficialClient()) ? ['websocket', 'pulsar'] : ['websocket'];

// `expect` counts nothing here: a case rejects when the driver breaks its rule.
describe.each(drivers)('%s, and a broker that demands tokens', (driver) => {
	let pulsar: TestPulsar;
	beforeAll(async () => {
		pulsar = await startPulsar({ tokenSecret: SECRET });
	}, LIMIT_MS);
	afterAll(async () => await pulsar.stop());

	test.each(TOKEN_FAULTS)(
		'$name',
		async ({ run }) => {
			const { namespace, drop } = await createNamespace(pulsar.webUrl, signPulsarToken(SECRET, 'admin'));
			await expect(run({ driver, pulsar, namespace, secret: SECRET })).resolves.toBeUndefined();
			await drop();
		},
		LIMIT_MS,
	);
});
