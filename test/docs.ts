import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeConfig } from './docs/describe-config.js';
import { describeErrors } from './docs/describe-errors.js';
import { describeMetrics } from './docs/describe-metrics.js';
import { describeStates } from './docs/describe-states.js';

// `npm run docs` writes the pages that are made out of tables in the code; `--check` compares them and names those that are stale.

const PAGES: Readonly<Record<string, () => string | Promise<string>>> = {
	'states.md': describeStates,
	'errors.md': describeErrors,
	'config.md': describeConfig,
	'metrics.md': describeMetrics,
};

const docs = join(import.meta.dirname, '../docs');
const check = process.argv.includes('--check');
const stale: string[] = [];
if (!check) mkdirSync(docs, { recursive: true });
for (const [page, describe] of Object.entries(PAGES)) {
	const text = `<!-- Made by \`npm run docs\`. Change the tables in the code, not this page. -->\n${(await describe()).trim()}\n`;
	const file = join(docs, page);
	if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
	stale.push(`docs/${page}`);
	if (!check) writeFileSync(file, text);
}
if (check && stale.length > 0) {
	process.stderr.write(`${stale.join(', ')}: not what the code says. Run: npm run docs\n`);
	process.exitCode = 1;
} else if (stale.length > 0) {
	process.stdout.write(`wrote ${stale.join(', ')}\n`);
}
