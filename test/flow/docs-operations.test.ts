import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readDoc } from '../harness/read-doc.js';
import { runDoc } from '../harness/run-doc.js';
import { makeDataDir, type Standalone, startedStandalone } from '../harness/standalone.js';

const DOCS = join(import.meta.dirname, '../../docs');
const read = (page: string): string => readFileSync(join(DOCS, page), 'utf8');

let dir: { path: string; drop(): void };
let running: Standalone;
const folder = mkdtempSync(join(tmpdir(), 'tidings-docs-operations-'));

beforeAll(async () => {
	dir = makeDataDir();
	running = await startedStandalone(dir.path, { env: { TIDINGS_ALERT_RECIPIENTS: 'ops@example.com' } });
}, 60_000);
afterAll(async () => {
	await running.stop();
	dir.drop();
	rmSync(folder, { recursive: true });
});

test('every command of docs/operations.md does what the page says', async () => {
	symlinkSync(dir.path, join(folder, '.tidings'));
	const blocks = [...readDoc(read('api/README.md')).slice(0, 1), ...readDoc(read('operations.md'))];
	expect(await runDoc({ cwd: folder, blocks })).toEqual([]);
}, 90_000);

test('every link of the page leads to a file', () => {
	const targets = [...read('operations.md').matchAll(/\]\(([^)#:]+)(#[^)]*)?\)/g)].map((found) => found[1] ?? '');
	expect(targets.filter((target) => read(target) === '')).toEqual([]);
});
