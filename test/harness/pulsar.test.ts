import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { eventually } from './eventually.js';
import { callAdmin, createNamespace } from './namespace.js';

const ROOT = join(import.meta.dirname, '../..');

/** The processes that have this text in their command line. */
function processesWith(text: string): number[] {
	const { stdout } = spawnSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' });
	return stdout
		.split('\n')
		.filter((line) => line.includes(text))
		.map((line) => Number.parseInt(line, 10));
}

test('a Pulsar ends with its parent and leaves nothing behind, even when the parent is killed while it starts', async () => {
	const folder = mkdtempSync(join(tmpdir(), 'tidings-parent-'));
	const program = `const { startPulsar } = await import(${JSON.stringify(join(import.meta.dirname, 'pulsar.ts'))}); await startPulsar();`;
	const parent = spawn(process.execPath, ['--conditions=tidings-source', '--import', 'tsx', '--input-type=module', '-e', program], {
		cwd: ROOT,
		env: { ...process.env, TMPDIR: folder },
		stdio: 'ignore',
	});
	try {
		await eventually(() => processesWith(folder).length > 0, { within: 120_000, what: 'the Java process' });
		const gone = once(parent, 'exit');
		parent.kill('SIGKILL');
		await gone;
		await eventually(() => processesWith(folder).length === 0, { within: 30_000, what: 'the end of the Java process' });
		await eventually(() => readdirSync(folder).filter((name) => name.startsWith('tidings-pulsar-')).length === 0, {
			within: 30_000,
			what: 'an empty folder',
		});
	} finally {
		parent.kill('SIGKILL');
		rmSync(folder, { recursive: true, force: true });
	}
}, 180_000);

test('each test file has a namespace of its own, in which no topic makes itself, and it is gone once dropped', async () => {
	const [one, other] = await Promise.all([createNamespace(), createNamespace()]);
	expect(one.namespace).not.toBe(other.namespace);
	const topics = async ({ adminUrl, namespace }: typeof one): Promise<{ status: number; names: unknown }> => {
		const response = await fetch(`${adminUrl}/admin/v2/persistent/${namespace}`);
		return { status: response.status, names: await response.json() };
	};
	const publish = async ({ adminUrl, namespace }: typeof one): Promise<string> => {
		const response = await fetch(`${adminUrl}/topics/persistent/${namespace}/letters`, {
			method: 'POST',
			headers: { 'content-type': 'application/json' },
			body: JSON.stringify({ producerName: 'test', messages: [{ payload: 'hello' }] }),
		});
		return await response.text();
	};
	await publish(one);
	expect(await topics(one)).toEqual({ status: 200, names: [] });

	await callAdmin({ url: one.adminUrl }, 'PUT', `persistent/${one.namespace}/letters`);
	expect(await publish(one)).toContain('"messageId"');
	expect((await topics(one)).names).toEqual([`persistent://${one.namespace}/letters`]);
	expect((await topics(other)).names).toEqual([]);

	await Promise.all([one.drop(), other.drop()]);
	expect((await topics(one)).status).toBe(404);
}, 120_000);
