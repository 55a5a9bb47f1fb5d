import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

// Makes the Prisma client out of schema.prisma. Says nothing unless it fails.

const prisma = join(dirname(createRequire(import.meta.url).resolve('prisma/package.json')), 'build/index.js');
const { status, stdout, stderr, error } = spawnSync(process.execPath, [prisma, 'generate', '--no-hints'], {
	cwd: join(import.meta.dirname, '..'),
	encoding: 'utf8',
	// Generating needs no engine; any existing program in its place keeps Prisma from downloading one. It is never started.
	env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1', PRISMA_HIDE_UPDATE_MESSAGE: '1' },
});
if (status !== 0) {
	process.stderr.write(`${error?.message ?? `${stdout}${stderr}`}\n`);
	process.exitCode = 1;
}
