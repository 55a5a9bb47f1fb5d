import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { newId } from '@tidings/model';
import { startApi, type TestApi } from '../harness/api.js';
import { eventually } from '../harness/eventually.js';
import { type Mesh, makeMesh } from '../harness/mesh.js';

/** TIDINGS_TEST_LETTERS=10000 asks more. */
const LETTERS = Number(process.env['TIDINGS_TEST_LETTERS'] ?? 2_000);

let mesh: Mesh;
let api: TestApi;

beforeAll(async () => {
	mesh = await makeMesh();
	api = await startApi({ databaseUrl: mesh.url });
	const server = { name: 'main', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'hello@example.com' } };
	await api.call('/v1/mail-servers', { body: server });
});
afterEach(async () => {
	await api.db.pool.query('delete from dead_letter_replay');
	await api.db.pool.query('delete from dead_letter_message');
});
afterAll(async () => {
	await api.stop();
	await mesh.close();
});

/** Messages of a type that were given up, each with its open letter; of the last ones some that were SENT all the same. */
async function giveUp(count: number, type: string, sent = 0): Promise<void> {
	const { pool } = api.db;
	for (let left = count; left > 0; left -= 500) {
		const items = Array.from({ length: Math.min(500, left) }, () => ({ to: ['ann@example.com'], subject: 'Hello', text: 'Hi', type }));
		await api.call('/v1/mails:batch', { body: { items } });
	}
	const ids = `select id from send_record where type = $1`;
	await pool.query(`delete from outbox_entry where id in (${ids})`, [type]);
	await pool.query(
		`update send_state set status = 'SENDING', version = version + 1, attempt_no = 1, due_at = null, lease_until = now(), claimed_at = now(), claimed_by = 'w' where id in (${ids})`,
		[type],
	);
	const end = (status: string, which: string): Promise<unknown> =>
		pool.query(
			`update send_state set status = '${status}', version = version + 1, budget_used = 5, lease_until = null, claimed_at = null, claimed_by = null, finished_at = now(),
				sent_at = case '${status}' when 'SENT' then now() end where status = 'SENDING' and id in (${which})`,
			[type],
		);
	await end('SENT', `${ids} order by id desc limit ${sent}`);
	await end('DEAD_LETTER', ids);
	await pool.query(
		`insert into dead_letter_message (id, tenant_id, source, record_id, channel, type, category, error)
		select uuid_v7(), tenant_id, 'SEND_EXHAUSTED', id, channel, type, 'AUTH', 'The password is wrong' from send_record where type = $1 order by id`,
		[type],
	);
}

const start = async (body: object): Promise<string> => {
	const { status, body: replay } = await api.call('/v1/dead-letter-replays', { body });
	expect([status, replay]).toEqual([202, expect.objectContaining({ state: 'RUNNING', replayed: 0 })]);
	return replay.id;
};
const look = async (id: string) => (await api.call(`/v1/dead-letter-replays/${id}`)).body;
const ended = (id: string) => eventually(async () => (await look(id)).finishedAt !== null, { what: 'the end of the replay' });
/** The letters of a type: first those whose messages were given up, then those whose messages were SENT. */
const letterIds = async (type: string): Promise<string[]> => {
	const text = `select l.id from dead_letter_message l join send_state s on s.id = l.record_id where l.type = $1 order by s.status, l.id`;
	return (await api.db.pool.query<{ id: string }>(text, [type])).rows.map(({ id }) => id);
};
const one = async (sql: string, values: unknown[] = []): Promise<number> =>
	(await api.db.pool.query<{ n: number }>(sql, values)).rows[0]?.n ?? -1;
/** Messages of a type that were sent again so many times. */
const againOf = (type: string): Promise<number> =>
	one(
		`select count(*)::int as n from send_record r join send_state s using (id) join outbox_entry e using (id)
		where r.type = $1 and s.status = 'RETRY' and s.version = 3 and s.budget_max = 6 and e.status = 'NEW'`,
		[type],
	);

test(`${LETTERS} letters: a dry run, a replay at its rate, a restart in the middle, a stop, and going on replay each once`, async () => {
	const sent = 10;
	await giveUp(LETTERS, 'many', sent);
	const filter = { type: 'many', category: 'AUTH' };
	// Of two nobody knows whether the mail server took them, and one of these is SENT.
	await api.db.pool.query(
		'update send_state set ambiguous = true where id in (select record_id from dead_letter_message where id = any($1))',
		[[(await letterIds('many'))[0], (await letterIds('many')).at(-1)]],
	);
	const { body: preview } = await api.call('/v1/dead-letter-replays', { body: { filter, dryRun: true } });
	expect(preview).toMatchObject({
		matched: LETTERS,
		replayable: LETTERS - sent,
		ambiguous: 1,
		refusals: [{ reason: 'message-state', count: sent }],
		sample: Array.from({ length: 5 }, () => ({ reason: 'message-state', detail: expect.stringContaining('in a state') })),
	});
	expect(await one('select count(*)::int as n from dead_letter_replay')).toBe(0);
	expect(await againOf('many')).toBe(0);

	const first = await start({ filter, ratePerSecond: 200, note: 'password mended' });
	const service = await mesh.archive();
	await eventually(async () => (await look(first)).replayed >= 100, { what: 'the first letters' });
	await service.stop();
	const paused = await look(first);
	expect(paused).toMatchObject({ state: 'RUNNING', matched: LETTERS });
	expect(await againOf('many')).toBe(paused.replayed);
	expect(paused.replayed).toBeLessThan(LETTERS - sent);
	expect(
		await one(
			`select count(*)::int as n from dead_letter_replay where id = $1
				and next_at >= created_at + make_interval(secs => (replayed + refused) / 200.0 - 1)`,
			[first],
		),
	).toBe(1);

	const services = [await mesh.archive(), await mesh.archive()];
	await eventually(async () => (await look(first)).replayed > paused.replayed, { what: 'more letters' });
	const { status, body: stopped } = await api.call(`/v1/dead-letter-replays/${first}:stop`, { body: { note: 'enough' } });
	expect([status, stopped.state]).toEqual([200, 'STOPPED']);
	expect(await againOf('many')).toBe(stopped.replayed);
	expect((await api.call(`/v1/dead-letter-replays/${first}:stop`, { method: 'POST' })).body).toMatchObject({
		status: 409,
		detail: 'The replay is STOPPED: only a RUNNING one can be stopped.',
	});

	const second = await start({ filter, ratePerSecond: 1_000 });
	await ended(second);
	const done = await look(second);
	expect(done).toMatchObject({ state: 'DONE', replayed: LETTERS - sent - stopped.replayed, failed: 0, error: null });
	expect(done.matched).toBe(done.replayed + done.refused);
	expect(done.refusals).toEqual([{ reason: 'message-state', count: sent }]);
	expect(await look(first)).toEqual(stopped);
	expect(await againOf('many')).toBe(LETTERS - sent);
	const twice = `select count(*)::int as n from (select 1 from audit_event where action = 'dead-letter.replay' group by subject_id having count(*) > 1) as x`;
	expect(await one(twice)).toBe(0);
	expect(await one(`select count(*)::int as n from dead_letter_message where type = 'many' and status = 'PENDING'`)).toBe(sent);
	for (const running of services) await running.stop();
}, 120_000);

test('K20 connections that are cut in the middle of a turn cost nothing: each letter is replayed once', async () => {
	await giveUp(400, 'cut');
	const replay = await start({ filter: { type: 'cut' }, ratePerSecond: 1_000 });
	const services = [await mesh.archive(), await mesh.archive()];
	const cut = () =>
		api.db.pool.query(
			`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tidings-mesh' and state <> 'idle' and datname = current_database()`,
		);
	let cuts = 0;
	await eventually(
		async () => {
			cuts += (await cut()).rowCount ?? 0;
			return cuts >= 5 || (await look(replay)).replayed > 0;
		},
		{ what: 'five cuts, or a first turn' },
	);
	await ended(replay);
	expect(await look(replay)).toMatchObject({ state: 'DONE', matched: 400, replayed: 400, refused: 0, failed: 0 });
	expect(await againOf('cut')).toBe(400);
	for (const running of services) await running.stop();
});

test('of ids each has its turn: what is not there, foreign, closed or not replayable is refused with its reason', async () => {
	await giveUp(6, 'ids', 1);
	const ids = await letterIds('ids');
	const { rows } = await api.db.pool.query<{ id: string }>(
		`insert into dead_letter_message (id, tenant_id, source) values (uuid_v7(), $1, 'EXPIRED') returning id`,
		[newId()],
	);
	await api.call(`/v1/dead-letters/${ids[0]}:discard`, { method: 'POST' });
	const wanted = [...ids, ids[1]?.toUpperCase(), newId(), rows[0]?.id];
	const replay = await start({ ids: wanted });
	const service = await mesh.archive();
	await ended(replay);
	expect(await look(replay)).toMatchObject({
		state: 'DONE',
		filter: null,
		matched: 8,
		replayed: 4,
		refused: 4,
		refusals: [
			{ reason: 'not-found', count: 2 },
			{ reason: 'letter-closed', count: 1 },
			{ reason: 'message-state', count: 1 },
		],
		sample: expect.arrayContaining([{ letterId: ids[0], reason: 'letter-closed', detail: 'The letter is closed already.' }]),
	});
	expect(await againOf('ids')).toBe(4);
	await service.stop();
});

test('what it is about is fixed at the start: later letters are left alone, and what others closed meanwhile counts as refused', async () => {
	await giveUp(5, 'fixed');
	const replay = await start({ filter: { type: 'fixed' } });
	await giveUp(3, 'fixed later');
	await api.db.pool.query(`update dead_letter_message set type = 'fixed' where type = 'fixed later'`);
	const [first, second] = await letterIds('fixed');
	await api.call(`/v1/dead-letters/${first}:resolve`, { method: 'POST' });
	await api.call(`/v1/dead-letters/${second}:replay`, { method: 'POST' });
	const service = await mesh.archive();
	await ended(replay);
	expect(await look(replay)).toMatchObject({ matched: 5, replayed: 3, refused: 2, refusals: [{ reason: 'letter-closed', count: 2 }] });
	expect(await againOf('fixed later')).toBe(0);
	await service.stop();
});

test('a letter at which something goes wrong is left out and counted, and its neighbours are replayed', async () => {
	await giveUp(7, 'fault');
	const [, , bad] = await letterIds('fault');
	await api.db.pool.query(`
		create function refuse_replay() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$;
		create trigger refuse_replay before update on dead_letter_message for each row when (new.id = '${bad}') execute function refuse_replay()`);
	const replay = await start({ filter: { type: 'fault' }, ratePerSecond: 1_000 });
	const service = await mesh.archive();
	await ended(replay);
	await api.db.pool.query('drop trigger refuse_replay on dead_letter_message; drop function refuse_replay()');
	expect(await look(replay)).toMatchObject({
		state: 'DONE',
		matched: 7,
		replayed: 6,
		refused: 0,
		failed: 1,
		sample: [{ letterId: bad, reason: 'failed' }],
	});
	expect((await api.call(`/v1/dead-letters/${bad}`)).body.status).toBe('PENDING');
	expect(mesh.lines.filter((line) => line.msg === 'a letter could not be replayed and is left out')).toHaveLength(1);
	await service.stop();
});

test('what a suspended tenant has is replayed and waits; once it is being deleted nothing is sent anew', async () => {
	await giveUp(2, 'halted');
	const platform = { key: api.platformKey, method: 'POST' };
	const body = { filter: { type: 'halted' } };
	await api.call(`/v1/tenants/${api.tenantId}:suspend`, platform);
	const first = await start({ ids: (await letterIds('halted')).slice(0, 1) });
	const service = await mesh.archive();
	await ended(first);
	expect(await look(first)).toMatchObject({ state: 'DONE', replayed: 1 });
	await service.stop();
	await api.call(`/v1/tenants/${api.tenantId}:resume`, platform);
	const second = await start(body);
	const { headers } = await api.call(`/v1/tenants/${api.tenantId}`, { key: api.platformKey });
	await api.call(`/v1/tenants/${api.tenantId}`, {
		method: 'DELETE',
		key: api.platformKey,
		headers: { 'if-match': headers.get('etag') ?? '' },
	});
	expect((await api.call('/v1/dead-letter-replays', { body })).body).toMatchObject({ status: 403, code: 'tenant-not-active' });
	const again = await mesh.archive();
	await ended(second);
	expect(await look(second)).toMatchObject({ state: 'FAILED', replayed: 0, error: 'The tenant is DELETING: nothing of it is sent anew.' });
	expect(await againOf('halted')).toBe(1);
	await again.stop();
	await api.call(`/v1/tenants/${api.tenantId}:resume`, platform);
});

test('a wish that is wrong is refused with every fault; who may not read content chooses by no text', async () => {
	const { key } = (await api.call('/v1/api-keys', { body: { name: 'blind', capabilities: ['dead-letters:triage'] } })).body;
	const faultsOf = async (body: object, more: { key?: string } = {}): Promise<string[]> =>
		(await api.call('/v1/dead-letter-replays', { body, ...more })).body.errors.map(
			(fault: { pointer: string; code: string }) => `${fault.pointer} ${fault.code}`,
		);
	expect(await faultsOf({})).toEqual(['/filter required']);
	expect(await faultsOf({ ids: [], ratePerSecond: 0, dryRun: 'yes', why: 1 })).toEqual(
		expect.arrayContaining(['/ids too-few', '/ratePerSecond out-of-range', '/dryRun wrong-type', '/why unknown-field']),
	);
	expect(await faultsOf({ filter: { createdAfter: 'yesterday', status: 'RESOLVED', text: 'a\u0000' }, ids: [newId()] })).toEqual(
		expect.arrayContaining([
			'/filter/status not-one-of',
			'/filter/createdAfter bad-format',
			'/filter/text control-character',
			'/ids contradiction',
		]),
	);
	expect(await faultsOf({ filter: { createdAfter: '2026-01-02T00:00:00Z', createdBefore: '2026-01-01T00:00:00Z' } })).toEqual([
		'/filter/createdBefore out-of-order',
	]);
	expect(await faultsOf({ filter: { text: 'ann' }, dryRun: true }, { key })).toEqual(['/filter/text needs-content-read']);
});

test('replays are listed newest first by state, each tenant’s own', async () => {
	const ids = [await start({ filter: {} }), await start({ filter: { source: 'EXPIRED' } })];
	await api.call(`/v1/dead-letter-replays/${ids[0]}:stop`, { method: 'POST' });
	const list = async (query: string, key = api.apiKey): Promise<string[]> =>
		(await api.call(`/v1/dead-letter-replays${query}`, { key })).body.data.map((row: { id: string }) => row.id);
	expect(await list('')).toEqual([...ids].reverse());
	expect(await list('?state=RUNNING')).toEqual([ids[1]]);
	expect(await list('?state=STOPPED')).toEqual([ids[0]]);
	expect(await list('', api.platformKey)).toEqual([]);
	for (const call of [{}, { method: 'POST' }])
		expect(
			(await api.call(`/v1/dead-letter-replays/${ids[1]}${'method' in call ? ':stop' : ''}`, { ...call, key: api.platformKey })).status,
		).toBe(404);
	const { body: first } = await api.call('/v1/dead-letter-replays?limit=1');
	expect(await list(`?limit=1&cursor=${first.nextCursor}`)).toEqual([ids[0]]);
});

test('of a tenant at most five replays are RUNNING, also when many are asked for at once; a dry run and another tenant’s are always taken', async () => {
	await giveUp(1, 'crowd');
	const body = { filter: { type: 'crowd' } };
	const answers = await Promise.all(Array.from({ length: 8 }, () => api.call('/v1/dead-letter-replays', { body })));
	expect(answers.map(({ status }) => status).sort()).toEqual([...Array(5).fill(202), ...Array(3).fill(409)]);
	expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({
		code: 'state-conflict',
		detail: expect.stringMatching(/^5 replays of this tenant are RUNNING.* stop one/),
	});
	expect(
		await one(`select count(*)::int as n from audit_event where action = 'dead-letter-replay.start' and subject_id = any($1)`, [
			answers.map((answer) => answer.body.id ?? newId()),
		]),
	).toBe(5);
	expect((await api.call('/v1/dead-letter-replays', { body: { ...body, dryRun: true } })).status).toBe(200);
	expect((await api.call('/v1/dead-letter-replays', { key: api.platformKey, body })).status).toBe(202);
	const running = answers.find(({ status }) => status === 202)?.body.id;
	await api.call(`/v1/dead-letter-replays/${running}:stop`, { method: 'POST' });
	await start(body);
});

test('a replay that is started is worked off at its rate without a poll, also when those who listen were cut off', async () => {
	const { pool } = api.db;
	const LISTENS = `from pg_stat_activity where application_name = 'tidings-listen' and datname = current_database() and query like 'listen%' and state = 'idle'`;
	// Whoever still looks for another reason would find what is started meanwhile.
	const asleep = async (): Promise<void> => {
		const recent = `select from pg_stat_activity where application_name = 'tidings-mesh' and datname = current_database() and state_change > now() - interval '500 ms'`;
		const isAsleep = async (): Promise<boolean> =>
			(await pool.query(`select ${LISTENS}`)).rowCount === 1 && (await pool.query(recent)).rowCount === 0;
		await eventually(isAsleep, { what: 'the service to listen and do nothing else' });
	};
	await giveUp(450, 'woken');
	const service = await mesh.archive({ replayPollMs: 3_600_000 });
	await asleep();
	const replay = await start({ filter: { type: 'woken' }, ratePerSecond: 1_000 });
	await ended(replay);
	expect(await look(replay)).toMatchObject({ state: 'DONE', replayed: 450 });
	await giveUp(1, 'woken again');
	await asleep();
	expect((await pool.query(`select pg_terminate_backend(pid) ${LISTENS}`)).rowCount).toBe(1);
	// Nobody hears of this one: whoever listens anew looks.
	const again = await start({ filter: { type: 'woken again' } });
	await ended(again);
	await service.stop();
});
