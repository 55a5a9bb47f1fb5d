import { expect, test } from '@jest/globals';
import { openDb } from '@tidings/db';
import { createLogger } from '@tidings/telemetry';
import { createDatabase } from '../../../test/harness/database.js';
import { eventually } from '../../../test/harness/eventually.js';
import { createWaker } from './wake-after-commit.js';

test('a connection that is lost before its setting is made gives its place in the pool back, and the next hint has another', async () => {
	const lines: string[] = [];
	const database = await createDatabase();
	const killer = openDb({ url: database.url, name: 'killer' });
	const db = openDb({ url: database.url, name: 'test', connections: 2 });
	let lost = 0;
	const waker = createWaker(
		async () => {
			const client = await db.pool.connect();
			if (lost < 3) {
				const { rows } = await client.query('select pg_backend_pid() as pid');
				const gone = new Promise((resolve) => client.once('error', resolve));
				await killer.pool.query('select pg_terminate_backend($1)', [rows[0].pid]);
				await gone;
				lost += 1;
			}
			return client;
		},
		createLogger({ service: 'test', level: 'warn', destination: { write: (line: string) => void lines.push(line) } }),
	);
	for (const n of [1, 2, 3]) {
		waker.wake([{ flowId: '1', dueAt: null }]);
		await eventually(() => lines.length === n, { what: `warning ${n}` });
	}
	expect(db.pool.totalCount).toBe(0);
	const listener = await killer.pool.connect();
	await listener.query('listen tidings_outbox');
	const told = new Promise((resolve) => listener.once('notification', resolve));
	waker.wake([{ flowId: '1', dueAt: null }]);
	await told;
	await waker.stop();
	listener.release(true);
	await db.close();
	await killer.close();
	await database.drop();
});
