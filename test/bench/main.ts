import { writeFileSync } from 'node:fs';
import { arch, cpus, platform } from 'node:os';
import { parseArgs } from 'node:util';
import { startPostgres } from '../harness/postgres.js';
import { benchAccept } from './accept.js';
import { benchAcceptBatch } from './accept-batch.js';
import { benchLatency } from './latency.js';
import type { Ratio } from './measure.js';
import { benchMemory } from './memory.js';
import { benchRelay } from './relay.js';
import { benchSend } from './send.js';

// `npm run bench [-- --only 1,4] [--minutes 10] [--json FILE]`: every ratio beside its limit, measured in one run on one machine. `minutes` is how long memory is watched
// under load (default 2). 6 and 8 run the built services. Exits 1 when one is below its floor.
const { values } = parseArgs({
	options: { json: { type: 'string' }, only: { type: 'string' }, minutes: { type: 'string', default: '2' } },
});
const BENCHES = new Map<number, (server: string) => Promise<Ratio>>([
	[1, benchAccept],
	[2, benchAcceptBatch],
	[3, benchSend],
	[4, benchRelay],
	[6, benchLatency],
	[8, (server) => benchMemory(server, Number(values.minutes))],
]);
const only = values.only?.split(',').map(Number);

const server = await startPostgres({ fsync: true, settings: ['shared_buffers=512MB', 'max_wal_size=4GB'] });
const ratios: Ratio[] = [];
for (const [number, bench] of BENCHES) {
	if (only !== undefined && !only.includes(number)) continue;
	const ratio = await bench(server.url);
	ratios.push(ratio);
	const reached = ratio.ours / ratio.limit;
	process.stdout.write(
		`${ratio.number}. ${ratio.name}\n   ours ${figure(ratio.ours)} ${ratio.unit} · ${ratio.limitName} ${figure(ratio.limit)} · ratio ${reached.toFixed(2)} (floor ${ratio.floor}, goal ${ratio.goal})${reached < ratio.floor ? '  BELOW THE FLOOR' : ''}\n   ${Object.entries(
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

function figure(value: number): string {
	return value < 10 ? value.toPrecision(2) : String(Math.round(value));
}
