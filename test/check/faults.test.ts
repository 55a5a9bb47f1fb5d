import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = 'docs/faults.md';

/** The ids at the beginning of test names, each with its files, as the page writes them. */
function idsOfTests(): Map<string, string[]> {
	const found = new Map<string, Set<string>>();
	for (const folder of ['libs', 'services', 'test'])
		for (const file of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
			if (!file.endsWith('.test.ts') || /(^|\/)(node_modules|dist)\//.test(file)) continue;
			const path = `${folder}/${file}`;
			for (const [, ids = ''] of readFileSync(join(ROOT, path), 'utf8').matchAll(/['`]((?:[FKM]\d+ )+)/g))
				for (const id of ids.trim().split(' ')) {
					if (id.startsWith('M')) continue;
					const files = found.get(id) ?? new Set();
					found.set(id, files.add(path.replace('.test.ts', '')));
				}
		}
	return new Map([...found].map(([id, files]) => [id, [...files].sort()]));
}

function idsOfPage(): Map<string, string[]> {
	const rows = readFileSync(join(ROOT, PAGE), 'utf8').matchAll(/^\| ([FK]\d+) \|.*\| ([^|]+) \|$/gm);
	return new Map([...rows].map(([, id = '', files = '']) => [id, files.replaceAll('`', '').split(', ').sort()]));
}

test(`${PAGE} names every fault that tests are named by, with exactly the files where they stand`, () => {
	const [tests, page] = [idsOfTests(), idsOfPage()];
	expect(page.size).toBeGreaterThan(50);
	const rows = (of: Map<string, string[]>): string[] => [...of].map(([id, files]) => `${id}: ${files.join(', ')}`).sort();
	expect(rows(page)).toEqual(rows(tests));
});
