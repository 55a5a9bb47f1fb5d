import { writeFileSync } from 'node:fs';
import { arch, cpus, platform } from 'node:os';
import { parseArgs } from 'node:util';
import { startPostgres } from '../harness/postgres.js';
import { startRedis } from '../harness/redis.js';
import { benchAccept } from './accept.js';
import { benchAcceptBatch } from './accept-batch.js';
import { benchBesideBacklog } from './beside-backlog.js';
import { benchClaim } from './claim.js';
import { benchLatency } from './latency.js';
import type { Ratio } from './measure.js';
import { benchMemory } from './memory.js';
import { benchRelay } from './relay.js';
import { benchSend } from './send.js';

// `npm run bench [-- --only 1,4] [--rows 50000] [--minutes 10] [--json FILE]`: every ratio beside its limit, measured in one run on one machine. 1, 2, 3, 4 and 6 say how the same does with
// limits and a quota that are never reached. `rows` is how many mails are queued in 5 (default 1,000,000) and 7 (default 500,000); `minutes` is how long memory is watched under load
// (default 2). 6 and 8 run the built services. Exits 1 when a ratio is below its floor, or limits cost more than a tenth.
const { values } = parseArgs({
	options: { json: { type: 'string' }, only: { type: 'string' }, minutes: { type: 'string', default: '2' }, rows: { type: 'string' } },
});
/** What something must keep of its rate when limits and a quota are on. */
const LIMITED_FLOOR = 0.9;
const BENCHES = new Map<number, (server: string) => Promise<Ratio>>([
	[1, benchAccept],
	[2, benchAcceptBatch],
	[3, (server) => benchSend(server, redis.url)],
	[4, benchRelay],
	[5, (server) => benchClaim(server, rows ?? 1_000_000)],
	[6, (server) => benchLatency(server, redis.url)],
	[7, (server) => benchBesideBacklog(server, rows ?? 500_000)],
	[8, (server) => benchMemory(server, redis.url, Number(values.minutes))],
]);
const rows = values.rows === undefined ? undefined : Number(values.rows);
if (rows !== undefined && !(rows >= 1_000)) throw new Error('--rows takes a number from 1000 on');
const only = values.only?.split(',').map(Number);

const server = await startPostgres({ fsync: true, settings: ['shared_buffers=512MB', 'max_wal_size=4GB'] });
const redis = await startRedis();
const ratios: Ratio[] = [];
for (const [number, bench] of BENCHES) {
	if (only !== undefined && !only.includes(number)) continue;
	const ratio = await bench(server.url);
	ratios.push(ratio);
	process.stdout.write(`${linesOf(ratio).join('\n   ')}\n`);
}
const bound = ratios.filter((ratio) => ratio.limited !== undefined);
if (bound.length > 0) process.stdout.write(`${tableOf(bound).join('\n   ')}\n`);
await redis.stop();
await server.stop();
if (values.json !== undefined) {
	const machine = { platform: platform(), arch: arch(), cpus: cpus().length, model: cpus()[0]?.model, node: process.version };
	writeFileSync(
		values.json,
		`${JSON.stringify({ machine, ratios: ratios.map((one) => ({ ...one, ratio: one.ours / one.limit, limitedShare: limitedShare(one) })) }, null, 2)}\n`,
	);
}
process.exitCode = ratios.some((ratio) => ratio.ours / ratio.limit < ratio.floor || isCostly(ratio)) ? 1 : 0;

function linesOf({ number, name, ours, limit, limitName, unit, floor, goal, notes }: Ratio): string[] {
	const reached = ours / limit;
	return [
		`${number}. ${name}`,
		`ours ${figure(ours)} ${unit} · ${limitName} ${figure(limit)} · ratio ${reached.toFixed(2)} (floor ${floor}, goal ${goal})${reached < floor ? '  BELOW THE FLOOR' : ''}`,
		Object.entries(notes)
			.map(([key, value]) => `${key}: ${value}`)
			.join(' · '),
	];
}

/** What limits and a quota cost, for each ratio that was measured with them, too. */
function tableOf(ratios: readonly Ratio[]): string[] {
	return [
		`With limits and quota, which are never reached (floor ${LIMITED_FLOOR} of without):`,
		...ratios.map(
			(ratio) =>
				`${ratio.number}. without ${figure(ratio.ours)} · with ${figure(ratio.limited ?? Number.NaN)} ${ratio.unit} · ${limitedShare(ratio)?.toFixed(2)}${isCostly(ratio) ? '  BELOW THE FLOOR' : ''}`,
		),
	];
}

/** The share of its rate that something keeps with limits and quota; null: not measured. */
function limitedShare({ ours, limited }: Ratio): number | null {
	return limited === undefined ? null : limited / ours;
}

function isCostly(ratio: Ratio): boolean {
	const share = limitedShare(ratio);
	return share !== null && share < LIMITED_FLOOR;
}

function figure(value: number): string {
	return value < 10 ? value.toPrecision(2) : String(Math.round(value));
}
