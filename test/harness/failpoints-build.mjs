import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { transformSync } from '@swc/core';

/*
 * Writes the sources of every room as JavaScript with their failpoints in, and prints the folder. A line that is only the comment `failpoint: NAME` becomes a call, on that
 * same line. It is kept until a source changes: services start several times as often in fault tests as files change, and a loader that strips types costs each start a second.
 */
const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache/tidings-failpoints');
const DAY_MS = 24 * 3_600_000;
const MARKER = /^([\t ]*)\/\/ failpoint: ([a-z-]+)$/gm;

const rooms = ['libs', 'services'].flatMap((kind) => readdirSync(join(ROOT, kind)).map((name) => join(kind, name)));

function sourcesIn(folder) {
	if (!existsSync(join(ROOT, folder))) return [];
	return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
		const path = join(folder, entry.name);
		if (entry.isDirectory()) return sourcesIn(path);
		return entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts') ? [path] : [];
	});
}

/** The room that a package name names. */
const roomOf = (name) => rooms.find((room) => room.endsWith(`/${name}`));

function compile(file, source) {
	const { code } = transformSync(
		source.replace(MARKER, (_line, indent, name) => `${indent}await globalThis.__failpoint('${name}');`),
		{ filename: file, jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' } },
	);
	// Rooms find each other in this tree, not through their packages.
	return code.replace(/(['"])@tidings\/([a-z-]+)\1/g, (_all, quote, name) => {
		const path = relative(dirname(file), join(roomOf(name), 'src/index.js'));
		return `${quote}${path.startsWith('.') ? path : `./${path}`}${quote}`;
	});
}

const sources = rooms
	.flatMap((room) => sourcesIn(join(room, 'src')))
	.map((file) => ({ file, source: readFileSync(join(ROOT, file), 'utf8') }));
const hash = createHash('sha256').update(readFileSync(import.meta.filename));
for (const { file, source } of sources) hash.update(file).update(source);
const folder = join(CACHE, hash.digest('hex').slice(0, 16));

if (!existsSync(folder)) {
	const draft = `${folder}.${process.pid}`;
	for (const { file, source } of sources) {
		const target = join(draft, file.replace(/\.ts$/, '.js'));
		mkdirSync(dirname(target), { recursive: true });
		writeFileSync(target, compile(file, source));
	}
	writeFileSync(join(draft, 'package.json'), '{"type":"module"}');
	symlinkSync(join(ROOT, 'prisma'), join(draft, 'prisma'));
	try {
		renameSync(draft, folder);
	} catch {
		// Another process was quicker.
		rmSync(draft, { recursive: true, force: true });
	}
}
for (const name of readdirSync(CACHE)) {
	const old = join(CACHE, name);
	if (old !== folder && Date.now() - statSync(old).mtimeMs > DAY_MS) rmSync(old, { recursive: true, force: true });
}
process.stdout.write(folder);
