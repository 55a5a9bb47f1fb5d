import { newId } from '@tidings/model';
import { pulsarOfRun } from './run-pulsar.js';

/** A namespace of one test file, where it is, and how to remove it with its topics. */
export type TestNamespace = {
	/** Tenant and namespace, such as `public/test-…`: what a service takes as BROKER_NAMESPACE. */
	readonly namespace: string;
	/** What a service takes as BROKER_URL. */
	readonly wsUrl: string;
	/** What a service takes as PULSAR_ADMIN_URL. */
	readonly adminUrl: string;
	drop(): Promise<void>;
};

/**
 * Makes a namespace in which no topic makes itself. `adminUrl` is the web address of the broker to use (default: that of this test run), `token` what it demands (default: nothing).
 * The first call of a run may have to wait for its broker: give its hook two minutes.
 */
export async function createNamespace(adminUrl?: string, token?: string): Promise<TestNamespace> {
	const url = adminUrl ?? (await pulsarOfRun());
	const namespace = `public/test-${newId()}`;
	await callAdmin({ url, token }, 'PUT', `namespaces/${namespace}`);
	// A broker that is given by its address may be set up otherwise.
	await callAdmin({ url, token }, 'POST', `namespaces/${namespace}/autoTopicCreation`, { allowAutoTopicCreation: false });
	return {
		namespace,
		wsUrl: url.replace(/^http/, 'ws'),
		adminUrl: url,
		drop: () => callAdmin({ url, token }, 'DELETE', `namespaces/${namespace}?force=true`),
	};
}

/** Calls Pulsar's admin API: `path` is what follows `/admin/v2/`. Rejects with its answer when that is no success. */
export async function callAdmin(
	{ url, token }: { readonly url: string; readonly token?: string | undefined },
	method: 'PUT' | 'POST' | 'DELETE',
	path: string,
	body?: unknown,
): Promise<void> {
	const response = await fetch(`${url}/admin/v2/${path}`, {
		method,
		signal: AbortSignal.timeout(60_000),
		headers: {
			...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
			...(body === undefined ? {} : { 'content-type': 'application/json' }),
		},
		...(body === undefined ? {} : { body: JSON.stringify(body) }),
	});
	const text = await response.text();
	if (!response.ok) throw new Error(`Pulsar answered ${method} ${path} with ${response.status}: ${text}`);
}
