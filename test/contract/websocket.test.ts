import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CONTRACT } from '@tidings/broker';
import { createNamespace, type TestNamespace } from '../harness/namespace.js';
import { openDriver } from './driver.js';

let place: TestNamespace;

beforeAll(async () => {
	place = await createNamespace();
}, 180_000);

afterAll(async () => await place.drop());

// `expect` counts nothing here: a case rejects when the driver breaks its rule.
for (const { name, run } of CONTRACT) {
	test(`websocket: ${name}`, async () => {
		const at = { webUrl: place.adminUrl, wsUrl: place.wsUrl, serviceUrl: '' };
		await expect(run(() => openDriver('websocket', at, { namespace: place.namespace }))).resolves.toBeUndefined();
	}, 120_000);
}
