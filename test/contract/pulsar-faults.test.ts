import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createNamespace } from '../harness/namespace.js';
import { startPulsar, type TestPulsar } from '../harness/pulsar.js';
import { BROKER_FAULTS } from './broker-faults.js';
import { hasOfficialClient, type PulsarDriver } from './driver.js';

const LIMIT_MS = 300_000;

const drivers: readonly PulsarDriver[] = (await hasOfficialClient()) ? ['websocket', 'pulsar'] : ['websocket'];

// `expect` counts nothing here: a case rejects when the driver breaks its rule.
describe.each(drivers)('%s, and a broker that breaks', (driver) => {
	let pulsar: TestPulsar;
	beforeAll(async () => {
		pulsar = await startPulsar();
	}, LIMIT_MS);
	afterAll(async () => await pulsar.stop());

	test.each(BROKER_FAULTS)(
		'$name',
		async ({ run }) => {
			const { namespace, drop } = await createNamespace(pulsar.webUrl);
			await expect(run({ driver, pulsar, namespace })).resolves.toBeUndefined();
			await drop();
		},
		LIMIT_MS,
	);
});
