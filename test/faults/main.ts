import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { runNemesis } from './nemesis/run-nemesis.js';

// `npm run faults -- --minutes N --seed S`: breaks services, PostgreSQL, Redis, Pulsar and mail servers at random under load, mends everything, and looks at what was promised.
// The same seed draws the same faults; what they meet depends on the moment. Exit code 1: a promise was broken, and the story of the record tells how.

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string' } } });
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
const minutes = Number(values.minutes);
if (!Number.isInteger(seed) || !(minutes > 0)) {
	console.error('usage: npm run faults -- [--minutes N] [--seed S]: N above 0, S a whole number');
	process.exit(64);
}
console.log(`faults: --minutes ${minutes} --seed ${seed}`);
const { broken, stories, figures } = await runNemesis({ seed, seconds: minutes * 60, say: (line) => console.log(line) });
for (const story of stories) console.log(`\n${story}`);
for (const fault of broken.slice(0, 50)) console.log(fault);
console.log(JSON.stringify({ seed, minutes, ...figures }));
console.log(broken.length === 0 ? 'every promise held' : `${broken.length} promises were broken`);
process.exit(broken.length === 0 ? 0 : 1);
