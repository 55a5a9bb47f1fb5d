import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/*
 * Preloaded into a service under test: makes its failpoints act. What one does stands in the file NAME of the folder that TIDINGS_FAILPOINTS names, and may
 * change at any time; without that file it does nothing. Each time a failpoint with such a file is met, a file NAME.N with the process's id appears, N from 1.
 */
const folder = process.env.TIDINGS_FAILPOINTS;

/** The next free number of a failpoint: several processes may meet it at once. */
function count(name) {
	for (let n = 1; ; n++) {
		try {
			writeFileSync(join(folder, `${name}.${n}`), String(process.pid), { flag: 'wx' });
			return n;
		} catch (error) {
			if (error.code !== 'EEXIST') throw error;
		}
	}
}

function orderOf(name) {
	try {
		return JSON.parse(readFileSync(join(folder, name), 'utf8'));
	} catch (error) {
		if (error.code === 'ENOENT') return null;
		throw error;
	}
}

async function meet(name) {
	const order = orderOf(name);
	if (order === null) return;
	const n = count(name);
	if (n < order.from || n >= order.from + order.times) return;
	if (order.act === 'crash') process.kill(process.pid, 'SIGKILL');
	if (order.act === 'throw') throw new Error(`failpoint ${name}`);
	// A barrier: until its file is gone.
	while (existsSync(join(folder, name))) await new Promise((resolve) => setTimeout(resolve, 10));
}

globalThis.__failpoint = meet;
