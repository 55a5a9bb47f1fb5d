import { afterAll, describe, expect, test } from '@jest/globals';
import { createNamespace } from '../harness/namespace.js';
import { NETWORK_FAULTS } from './network-faults.js';

const LIMIT_MS = 300_000;

// Not in a hook: concurrent tests begin before those.
const made = createNamespace();

afterAll(async () => await (await made).drop());

// Each case has a proxy of its own before the broker of the run, and mostly waits for a silence to be noticed: they wait together.
describe('websocket, and a network that breaks', () => {
	// `expect` counts nothing here: a case rejects when the driver breaks its rule.
	test.concurrent.each(NETWORK_FAULTS)(
		'$name',
		async ({ run }) => {
			const { adminUrl: webUrl, wsUrl, namespace } = await made;
			await expect(run({ driver: 'websocket', pulsar: { webUrl, wsUrl, serviceUrl: '' }, namespace })).resolves.toBeUndefined();
		},
		LIMIT_MS,
	);
});
