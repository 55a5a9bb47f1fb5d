import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The folder with the jars of a Pulsar broker. Maven collects them at the first call and whenever pulsar/pom.xml has changed; afterwards they are in the cache.
 * Rejects with what is missing or with Maven's last words.
 */
export async function collectPulsarJars(): Promise<string> {
	const pom = join(import.meta.dirname, 'pulsar/pom.xml');
	const cache = join(import.meta.dirname, '../../node_modules/.cache/tidings-pulsar');
	const folder = join(cache, createHash('sha256').update(readFileSync(pom)).digest('hex').slice(0, 16));
	if (existsSync(folder)) return folder;
	mkdirSync(cache, { recursive: true });
	const half = mkdtempSync(join(cache, 'new-'));
	try {
		await runMaven(['-f', pom, 'dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${half}`]);
		// Under its final name the folder is complete. Another process may have been quicker, with the same jars.
		if (!existsSync(folder)) renameSync(half, folder);
	} catch (error) {
		if (!existsSync(folder)) throw error;
	} finally {
		rmSync(half, { recursive: true, force: true });
	}
	return folder;
}

async function runMaven(args: readonly string[]): Promise<void> {
	const child = spawn('mvn', ['-B', '-ntp', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
	const output: string[] = [];
	for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => output.push(text));
	const code = await new Promise<number | null>((resolve, reject) => {
		child.once('error', (error) =>
			reject(
				new Error('Maven (mvn) cannot be started: the test broker’s jars come through it. Install the package "maven".', { cause: error }),
			),
		);
		child.once('close', resolve);
	});
	if (code !== 0) throw new Error(`Maven could not collect the jars of Pulsar:\n${output.join('').slice(-3_000)}`);
}
