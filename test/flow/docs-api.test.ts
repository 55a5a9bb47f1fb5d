import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readDoc } from '../harness/read-doc.js';
import { runDoc } from '../harness/run-doc.js';
import { makeDataDir, type Standalone, startedStandalone } from '../harness/standalone.js';

const DOCS = join(import.meta.dirname, '../../docs/api');
const PAGES = readdirSync(DOCS).sort();
const read = (page: string): string => readFileSync(join(DOCS, page), 'utf8');

/** The settings that 07-credentials.md tells its reader to start with. */
const JWT = {
	TIDINGS_JWT_ISSUER: 'https://login.example.com',
	TIDINGS_JWT_AUDIENCE: 'tidings',
	TIDINGS_JWT_SECRET: 'a-secret-of-at-least-32-characters',
};

let dir: { path: string; drop(): void };
let running: Standalone;
const folder = mkdtempSync(join(tmpdir(), 'tidings-docs-api-'));

beforeAll(async () => {
	dir = makeDataDir();
	running = await startedStandalone(dir.path, { env: JWT });
}, 60_000);
afterAll(async () => {
	await running.stop();
	dir.drop();
	rmSync(folder, { recursive: true });
});

test.each(PAGES)(
	'every command of docs/api/%s does what the page says',
	async (page) => {
		const cwd = mkdtempSync(join(folder, 'page-'));
		symlinkSync(dir.path, join(cwd, '.tidings'));
		// What the index sets, every page uses.
		const ground = readDoc(read('README.md'));
		const blocks = page === 'README.md' ? ground : [...ground.slice(0, 1), ...readDoc(read(page))];
		expect(await runDoc({ cwd, blocks })).toEqual([]);
	},
	90_000,
);

test('the index names every page, and every link of a page leads to a file', () => {
	for (const page of PAGES.filter((one) => one !== 'README.md')) expect(read('README.md')).toContain(`](${page})`);
	const targets = PAGES.flatMap((page) => [...read(page).matchAll(/\]\(([^)#:]+)(#[^)]*)?\)/g)].map((found) => found[1] ?? ''));
	expect(targets.filter((target) => !readFileSync(join(DOCS, target), 'utf8'))).toEqual([]);
});

test('commands may be pasted into zsh too: no variable stands before a colon without braces', () => {
	expect(PAGES.filter((page) => readDoc(read(page)).some(({ script }) => /\$\w+:\w/.test(script)))).toEqual([]);
});
