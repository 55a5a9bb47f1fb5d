import { readFileSync } from 'node:fs';
import { migrate } from './migrate.js';

const HELP = `Brings the database schema up to this release: applies the migrations that are missing.

Usage: npm run migrate

  DATABASE_URL       the database, as postgresql://user:password@host:port/name
  DATABASE_URL_FILE  a file that holds it instead

Two runs at once are safe. Prints what was applied. Exit code: 0 done, 1 failed, 64 unknown argument, 78 no address.
`;

function readUrl(): string {
	const { DATABASE_URL: url = '', DATABASE_URL_FILE: file = '' } = process.env;
	return url === '' && file !== '' ? readFileSync(file, 'utf8').trim() : url;
}

async function main(args: readonly string[]): Promise<number> {
	if (args.includes('--help')) {
		process.stdout.write(HELP);
		return 0;
	}
	if (args.length > 0) {
		process.stderr.write(`There is no argument ${args[0]}. See --help.\n`);
		return 64;
	}
	try {
		const url = readUrl();
		if (url === '') {
			process.stderr.write('DATABASE_URL is not set: the database to migrate, as postgresql://user:password@host:port/name.\n');
			return 78;
		}
		const applied = await migrate({ url, log: (line) => process.stdout.write(`${line}\n`) });
		if (applied.length === 0) process.stdout.write('Nothing to do: the schema is up to date.\n');
		return 0;
	} catch (error) {
		process.stderr.write(`migrate: ${describe(error)}\n`);
		return 1;
	}
}

/** One readable line. An unreachable host with several addresses has its reasons inside. */
function describe(error: unknown): string {
	if (error instanceof AggregateError) return error.errors.map((one) => (one instanceof Error ? one.message : String(one))).join('; ');
	return error instanceof Error ? error.message : String(error);
}

process.exitCode = await main(process.argv.slice(2));
