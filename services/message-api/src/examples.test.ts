import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startApi, type TestApi } from '../../../test/harness/api.js';
import { createRecipes, makeServer, type Recipe } from '../../../test/harness/recipes.js';

type Documented = {
	operationId: string;
	description: string;
	requestBody?: { content: Record<string, { example?: unknown }> };
	responses: Record<string, unknown>;
};
type Call = {
	readonly operationId: string;
	readonly isPlatforms: boolean;
	readonly method: string;
	readonly path: string;
	readonly example: unknown;
	readonly successes: readonly string[];
};

let api: TestApi;
let calls: ReadonlyMap<string, Call>;
/** How the example of each operation is called. An operation without a row fails the test. */
let recipes: Readonly<Record<string, Recipe>>;

beforeAll(async () => {
	api = await startApi();
	await makeServer(api, api);
	recipes = createRecipes(api, api);
	const { body } = await api.call('/openapi.json', { key: null });
	const all = Object.entries<Record<string, Documented>>(body.paths).flatMap(([path, methods]) =>
		Object.entries(methods).map(([method, one]): Call => {
			const [media] = Object.values(one.requestBody?.content ?? {});
			const successes = Object.keys(one.responses).filter((status) => status < '300');
			const isPlatforms = one.description.endsWith('`platform`.');
			return { operationId: one.operationId, isPlatforms, method: method.toUpperCase(), path, example: media?.example, successes };
		}),
	);
	calls = new Map(all.map((one) => [one.operationId, one]));
});
afterAll(async () => await api.stop());

test('every operation of the document has a recipe, and every recipe an operation', () => {
	expect([...calls.keys()].sort()).toEqual(Object.keys(recipes).sort());
});

test('the example of every operation is taken, and answered as the document says', async () => {
	for (const { operationId, isPlatforms, method, path, example, successes } of calls.values()) {
		const { id = '', etag } = (await recipes[operationId]?.()) ?? {};
		const { status, body } = await api.call(path.replace('{id}', id), {
			method,
			key: isPlatforms ? api.platformKey : api.apiKey,
			...(example === undefined ? {} : { body: example }),
			...(etag == null ? {} : { headers: { 'if-match': etag } }),
		});
		expect([operationId, successes, body]).toEqual([operationId, expect.arrayContaining([String(status)]), body]);
	}
});
