import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { findEnvironmentReaders, findForeignClocks, findLongCode, findStatusWriters } from './source-rules.js';

let root: string;

beforeEach(() => {
	root = mkdtempSync(join(tmpdir(), 'tidings-rules-'));
	for (const folder of ['libs', 'services', 'test']) mkdirSync(join(root, folder));
});

afterEach(() => rmSync(root, { recursive: true }));

function write(file: string, text: string): void {
	mkdirSync(dirname(join(root, file)), { recursive: true });
	writeFileSync(join(root, file), text);
}

describe('one writer of status columns', () => {
	test.each([
		"`update send_state set status = 'SENT' where id = $1`",
		"`update send_state s set lease_until = null, status='SENT' from x`",
		'`update send_state set due_at = (select min(due_at) from y where z), status = $2`',
		"`update outbox_entry set (lease_until, status) = (null, 'NEW')`",
		'`insert into a (id) values (1) on conflict (id) do update set status = excluded.status`',
		'`with x as (update a set\n\t"status" = ${to} returning id) select * from x`',
		"'update a SET Status = 1'",
		"prisma.sendState.updateMany({ where: { id }, data: { version: 1, status: 'SENT' } })",
		'prisma.sendState.update({ where: { id }, data: { status } })',
		"prisma.sendState.upsert({ where: { id }, create: { status }, update: { 'status': to } })",
	])('refuses %s', (code) => {
		write('services/x/src/act.ts', `const a = ${code};`);
		expect(findStatusWriters(root)).toEqual([expect.stringMatching(/^services\/x\/src\/act\.ts:1 {2}/)]);
	});

	test.each([
		"`update send_state set ${move.set} where ${move.guard} and status = 'X'`",
		"`update send_state set lease_until = null where status = 'SENDING' and x = 1`",
		"`update a set n = (select count(*) from b where status = 'X') where id = 1`",
		"`with x as (update a set n = 1 returning id) select status = 'X' from x`",
		"`insert into send_state (id, status) values ($1, 'PENDING')`",
		"'we set the table; status = good'",
		"prisma.sendState.findMany({ where: { status: 'SENT' } })",
		"prisma.sendState.updateMany({ where: { status: 'SENT' }, data: { waits: 1 } })",
		"prisma.sendState.create({ data: { status: 'PENDING' } })",
	])('lets %s pass', (code) => {
		write('services/x/src/act.ts', `const a = ${code};`);
		expect(findStatusWriters(root)).toEqual([]);
	});

	test('lets transition.ts and tests write', () => {
		const code = "const a = `update send_state set status = 'SENT'`;";
		for (const file of ['libs/db/src/transition.ts', 'libs/db/src/claim.test.ts', 'libs/db/src/generated/x.ts']) write(file, code);
		expect(findStatusWriters(root)).toEqual([]);
	});
});

test('the environment is read only by a config.ts and by commands', () => {
	const code = '\nconst a = process.env.A;';
	for (const file of ['libs/a/src/config.ts', 'libs/a/src/b-main.ts', 'services/c/src/main.ts', 'libs/a/src/d.test.ts']) write(file, code);
	expect(findEnvironmentReaders(root)).toEqual([]);
	write('libs/a/src/reads.ts', code);
	write('libs/a/src/takes.ts', "import { env } from 'node:process';");
	expect(findEnvironmentReaders(root).map((fault) => fault.split('  ')[0])).toEqual(['libs/a/src/reads.ts:2', 'libs/a/src/takes.ts:1']);
});

test('the time and chance come only from the model', () => {
	const code = 'const a = [Date.now(), new Date(), Math.random(), performance.now(), randomUUID()];';
	for (const file of ['libs/model/src/clock.ts', 'libs/model/src/ids.ts', 'libs/a/src/b.test.ts']) write(file, code);
	write('libs/a/src/given.ts', 'const a = [new Date(0), Date.parse(text), Math.max(1, 2)];');
	expect(findForeignClocks(root)).toEqual([]);
	write('libs/a/src/clock.ts', code);
	expect(findForeignClocks(root)).toHaveLength(5);
});

test('long files and functions are named, the longest first', () => {
	const lines = (count: number) => '\n'.repeat(count);
	write('libs/a/src/a.ts', `function short() {${lines(59)}}${lines(241)}`);
	write('libs/a/src/b.ts', `const long = () => {${lines(60)}};${lines(300)}`);
	write('libs/a/src/c.test.ts', `describe('x', () => {${lines(100)}});`);
	expect(findLongCode(root)).toEqual(['libs/a/src/b.ts has 360 lines', 'libs/a/src/b.ts:1  long has 61 lines']);
});
