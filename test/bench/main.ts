import { writeFileSync } from 'node:fs';
import { arch, cpus, platform } from 'node:os';
import { parseArgs } from 'node:util';
import { startPostgres } from '../harness/postgres.js';
import { benchAccept } from './accept.js';
import { benchAcceptBatch } from './accept-batch.js';
import type { Ratio } from './measure.js';
import { benchRelay } from './relay.js';
import { benchSend } from './send.js';

// `npm run bench [-- --only 1,4] [--json FILE]`: every ratio beside its limit, measured in one run on one machine. Exits 1 when one is below its floor.
const { values } = parseArgs({ options: { json: { type: 'string' }, only: { type: 'string' } } });
const BENCHES = [benchAccept, benchAcceptBatch, benchSend, benchRelay];
const only = values.only?.split(',').map(Number);

const server = await startPostgres({ fsync: true, settings: ['shared_buffers=512MB', 'max_wal_size=4GB'] });
const ratios: Ratio[] = [];
for (const [index, bench] of BENCHES.entries()) {
	if (only !== undefined && !only.includes(index + 1)) continue;
	const ratio = await bench(server.url);
	ratios.push(ratio);
	const reached = ratio.ours / ratio.limit;
	process.stdout.write(
		`${ratio.number}. ${ratio.name}\n   ours ${Math.round(ratio.ours)} ${ratio.unit} · ${ratio.limitName} ${Math.round(ratio.limit)} · ratio ${reached.toFixed(2)} (floor ${ratio.floor}, goal ${ratio.goal})${reached < ratio.floor ? '  BELOW THE FLOOR' : ''}\n   ${Object.entries(
			ratio.notes,
		)
			.map(([key, value]) => `${key}: ${value}`)
			.join(' · ')}\n`,
	);
}
await server.stop();
if (values.json !== undefined) {
	const machine = { platform: platform(), arch: arch(), cpus: cpus().length, model: cpus()[0]?.model, node: process.version };
	writeFileSync(
		values.json,
		`${JSON.stringify({ machine, ratios: ratios.map((ratio) => ({ ...ratio, ratio: ratio.ours / ratio.limit })) }, null, 2)}\n`,
	);
}
process.exitCode = ratios.some((ratio) => ratio.ours / ratio.limit < ratio.floor) ? 1 : 0;
