import { expect, test } from '@jest/globals';
import { CONTRACT } from './contract.js';
import { openBroker } from './open-broker.js';

// `expect` counts nothing here: a case rejects when the driver breaks its rule.
for (const { name, run } of CONTRACT) {
	test(`embedded: ${name}`, async () => {
		const log = { error: () => undefined };
		await expect(run(() => openBroker({ url: 'embedded:', namespace: 'contract', log }))).resolves.toBeUndefined();
	}, 60_000);
}
