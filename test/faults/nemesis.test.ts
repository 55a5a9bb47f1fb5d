import { randomInt } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { runNemesis } from './nemesis/run-nemesis.js';

// A minute of everything at once. `npm run faults -- --minutes 10 --seed S` goes on longer.

const SECONDS = 60;

test('F10 whatever breaks for a minute, every promise holds once it is over', async () => {
	const seed = Number(process.env['TIDINGS_NEMESIS_SEED'] ?? randomInt(2 ** 31));
	const deeds: string[] = [];
	process.stdout.write(`nemesis: TIDINGS_NEMESIS_SEED=${seed}\n`);
	const { broken, stories, figures } = await runNemesis({ seed, seconds: SECONDS, say: (line) => void deeds.push(line) });
	process.stdout.write(`nemesis: ${JSON.stringify(figures)}\n`);
	if (broken.length > 0) throw new Error([`seed ${seed}`, ...broken, ...stories, ...deeds].join('\n'));
	expect(figures['answered']).toBeGreaterThan(0);
}, 600_000);
