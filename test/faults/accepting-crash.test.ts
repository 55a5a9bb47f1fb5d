import { expect } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import type { ProcessMesh } from '../harness/process-mesh.js';
import { becomes, look, mailsOf, meshOfFile, PATIENCE } from './kit.js';

// A service that dies inside the transaction that accepts or settles, or right after it: the commit decides, and nothing else.

const faultTest = meshOfFile();

const WAITING = `select pid from pg_locks where locktype = 'advisory' and objid = 77 and not granted`;

/** Lets inserts into a table wait for us, in their statement or in the COMMIT after it. */
async function barrier({ db }: ProcessMesh, table: string, when: 'statement' | 'commit') {
	const gate = await db.pool.connect();
	await gate.query('select pg_advisory_lock(77)');
	const deferred = when === 'commit' ? 'deferrable initially deferred' : '';
	await db.pool.query(`
		create function wait_for_gate() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(77); return null; end $$;
		create constraint trigger wait_for_gate after insert on ${table} ${deferred} for each row execute function wait_for_gate()`);
	return {
		/** Resolves when somebody waits here. */
		reached: () => eventually(async () => ((await db.pool.query(WAITING)).rowCount ?? 0) > 0, { ...PATIENCE, what: 'the barrier' }),
		/** Ends the sessions that wait: a statement by itself would be committed although its client is dead. */
		breakOff: () => db.pool.query(`select pg_terminate_backend(pid) from (${WAITING}) as w`),
		/** Lets all go, for good. */
		open: async () => {
			await gate.query('select pg_advisory_unlock_all()');
			gate.release();
			await eventually(async () => (await db.pool.query(WAITING)).rowCount === 0, { ...PATIENCE, what: 'nobody to wait' });
			await db.pool.query('drop function wait_for_gate() cascade');
		},
	};
}

const records = async ({ db }: ProcessMesh): Promise<string[]> =>
	(await db.pool.query<{ id: string }>('select id from send_record order by id')).rows.map(({ id }) => id);

function apiOf(mesh: ProcessMesh) {
	const api = mesh.services.find(({ service }) => service === 'message-api');
	if (api === undefined) throw new Error('no API');
	return api;
}

faultTest(
	'F1 a crash before the accepting commit leaves nothing; the caller sees a broken connection, and its repeat makes one record',
	async (mesh) => {
		const before = await records(mesh);
		const api = apiOf(mesh);
		const gate = await barrier(mesh, 'send_record', 'statement');
		mesh.submitter.forget();
		const submitted = mesh.submitter.submit();
		await gate.reached();
		await api.kill();
		await gate.open();
		await eventually(() => mesh.submitter.met.size > 0, { ...PATIENCE, what: 'the caller to be cut off' });
		expect(await records(mesh)).toEqual(before);
		api.restart();
		const id = await submitted;
		expect(await records(mesh)).toEqual([...before, id]);
		await mesh.startReady('outbox-publisher', 'mail-sender');
		await mesh.drained();
		expect(mailsOf(mesh, id)).toBe(1);
		expect(await mesh.broken()).toEqual([]);
	},
);

faultTest(
	'F2 a crash after the commit and before the reply: the repeat with the same key is answered with the record that is there',
	async (mesh) => {
		const before = await records(mesh);
		const api = apiOf(mesh);
		const gate = await barrier(mesh, 'send_record', 'commit');
		mesh.submitter.forget();
		const submitted = mesh.submitter.submit();
		await gate.reached();
		// From here on it hears nothing, so that it cannot answer.
		api.signal('SIGSTOP');
		await gate.open();
		const made = await eventually(async () => (await records(mesh)).find((one) => !before.includes(one)) ?? null, {
			...PATIENCE,
			what: 'the commit',
		});
		await api.kill();
		api.restart();
		expect(await submitted).toBe(made);
		expect(mesh.submitter.met.size).toBeGreaterThan(0);
		expect(await records(mesh)).toEqual([...before, made]);
		await mesh.startReady('outbox-publisher', 'mail-sender');
		await mesh.drained();
		expect(mailsOf(mesh, made)).toBe(1);
		expect(await mesh.broken()).toEqual([]);
	},
);

faultTest(
	'F9 K31 a crash between a verdict and its retry row leaves neither: the record is revived when the lease is over, and sent',
	async (mesh) => {
		const [, sender] = await mesh.startReady('outbox-publisher', 'mail-sender');
		const later = mesh.sink.script({ stage: 'RCPT', times: 1, answer: { kind: 'refuse', code: 451, enhancedCode: '4.3.0' } });
		const gate = await barrier(mesh, 'delivery_attempt', 'statement');
		const id = await mesh.submitter.submit();
		await later.met();
		await gate.reached();
		await sender?.kill();
		await gate.breakOff();
		await gate.open();
		expect(await look(mesh, id)).toMatchObject({ status: 'SENDING', entry: null, attempts: [], letters: [] });
		sender?.restart();
		await mesh.db.pool.query(`update send_state set lease_until = now() - interval '1 second' where id = $1 and status = 'SENDING'`, [id]);
		expect(await becomes(mesh, id, 'SENT')).toMatchObject({ entry: null, letters: [] });
		expect(mailsOf(mesh, id)).toBe(1);
		expect(await mesh.broken()).toEqual([]);
	},
);
