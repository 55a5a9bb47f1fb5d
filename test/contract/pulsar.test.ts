import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CONTRACT } from '@tidings/broker';
import { callAdmin, createNamespace, type TestNamespace } from '../harness/namespace.js';
import { hasOfficialClient, openDriver, type PulsarAddresses } from './driver.js';
import { findServiceUrl } from './witness.js';

const installed = await hasOfficialClient();
if (!installed) console.log('not run: pulsar-client is not installed');

let place: TestNamespace;
let at: PulsarAddresses;

beforeAll(async () => {
	if (!installed) return;
	place = await createNamespace();
	await callAdmin({ url: place.adminUrl }, 'PUT', `persistent/${place.namespace}/any`);
	const serviceUrl = await findServiceUrl(place.adminUrl, `persistent://${place.namespace}/any`);
	at = { webUrl: place.adminUrl, wsUrl: place.wsUrl, serviceUrl };
}, 180_000);

afterAll(async () => await place?.drop());

const runTest = installed ? test : test.skip;

// `expect` counts nothing here: a case rejects when the driver breaks its rule.
for (const { name, run } of CONTRACT) {
	runTest(
		`pulsar: ${name}`,
		async () => {
			await expect(run(() => openDriver('pulsar', at, { namespace: place.namespace }))).resolves.toBeUndefined();
		},
		120_000,
	);
}
