import { setTimeout as pause } from 'node:timers/promises';
import { LANES } from '@tidings/model';
import { eventually } from '../../harness/eventually.js';
import { brokenPromises } from '../../harness/invariants.js';
import { SECRETS } from '../../harness/process-mesh.js';
import { ACTS, type Act } from './acts.js';
import { createChance } from './chance.js';
import { brokenDelays } from './check-delays.js';
import { brokenRates } from './check-rates.js';
import { type Ground, makeGround, PER_MINUTE } from './ground.js';
import { keepBusy } from './load.js';
import { type Deed, tellStory } from './tell-story.js';

/** What a run came to: every promise that was broken, the stories of the records that broke them, and the figures. */
export type Ordeal = {
	readonly broken: readonly string[];
	readonly stories: readonly string[];
	readonly figures: Readonly<Record<string, unknown>>;
};

/** How long faults are over before everything must have ended, at most. */
const DRAIN_MS = 300_000;
/** The first delay after a refusal, and how long a claim holds, as the mesh's settings make them. */
const PACE = { baseSeconds: 0.2, leaseSeconds: 8 };
/** So many stories are told. */
const STORIES = 3;

/** Breaks everything at random for so many seconds, mends it, lets it drain, and looks at what was promised. `say` is told each deed. */
export async function runNemesis({ seed, seconds, say }: { seed: number; seconds: number; say: (line: string) => void }): Promise<Ordeal> {
	const ground = await makeGround();
	try {
		const began = performance.now();
		const { deeds, people, ended } = await breakThings(ground, { seed, seconds, say });
		const costly = await quietIsServed(ground);
		const lifted = await heal(ground, say);
		const late = await drain(ground, say);
		const broken = [
			...ended,
			...costly,
			...late,
			...(await brokenOf(ground)),
			...(await brokenDelays(ground.mesh.db, PACE)),
			...(await leftInTopics(ground)),
			...(await brokenRates(ground.mesh.db, {
				configId: ground.servers.limited,
				perMinute: PER_MINUTE,
				resets: deeds.filter((one) => /Redis: (killed|empty)/.test(one.text)).length,
				until: lifted,
			})),
		];
		const ids = [...new Set(broken.flatMap((fault) => /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(fault)?.[0] ?? []))].slice(0, STORIES);
		const stories = await Promise.all(ids.map((id) => tellStory(ground, deeds, id)));
		const figures = { seconds: Math.round((performance.now() - began) / 1_000), ...(await figuresOf(ground, deeds)), people };
		return { broken, stories, figures };
	} finally {
		await ground.close();
	}
}

type Breaking = { readonly seed: number; readonly seconds: number; readonly say: (line: string) => void };

async function breakThings(ground: Ground, { seed, seconds, say }: Breaking): Promise<{ deeds: Deed[]; people: number; ended: string[] }> {
	const chance = createChance(seed);
	const deeds: Deed[] = [];
	const over = new AbortController();
	// Draws of its own: how quickly the mesh answers must not change what the nemesis does.
	const busy = keepBusy(ground, createChance(seed + 1), over.signal);
	busy.catch(() => undefined);
	const supervised = supervise(ground, over.signal);
	supervised.catch(() => undefined);
	const aside = new Map<Act, Promise<void>>();
	const doIt = async (act: Act): Promise<void> => {
		const at = new Date();
		const what = await act.run(ground, chance);
		deeds.push({ at, until: new Date(), text: `${act.name}: ${what}` });
		say(`${at.toISOString()} ${act.name}: ${what}`);
	};
	const end = performance.now() + seconds * 1_000;
	while (performance.now() < end) {
		const act = weighted(chance.between(0, WEIGHT - 1));
		if (act.aside === undefined) await doIt(act);
		else if (!aside.has(act))
			aside.set(
				act,
				doIt(act).finally(() => aside.delete(act)),
			);
		await pause(chance.between(100, 900));
	}
	await Promise.all(aside.values());
	over.abort();
	const { acts } = await busy;
	return { deeds, people: acts, ended: await supervised };
}

/** What starts while its database is away ends, and is started again as an orchestrator does. Answers who ended in any other way. */
async function supervise({ mesh, held }: Ground, over: AbortSignal): Promise<string[]> {
	const faults: string[] = [];
	for (let last = false; !last; ) {
		last = over.aborted;
		await pause(250);
		for (const one of mesh.services) {
			if (one.running || held.has(one)) continue;
			const { code, signal } = await one.ended();
			// Killed by an act, which starts it again itself.
			if (signal !== null || one.running) continue;
			if (code !== 1 || !one.lines.slice(-3).some((line) => line.msg.startsWith('cannot start')))
				faults.push(`${one.service} ${one.pid} ended by itself with ${code}`);
			one.restart();
		}
	}
	return faults;
}

const WEIGHT = ACTS.reduce((sum, act) => sum + act.weight, 0);

function weighted(drawn: number): Act {
	let left = drawn;
	for (const act of ACTS) {
		if (left < act.weight) return act;
		left -= act.weight;
	}
	throw new Error('the weights are wrong');
}

/** Everything is there again; the limit is lifted, as a person may. Answers when. */
async function heal({ mesh, servers }: Ground, say: (line: string) => void): Promise<Date> {
	await Promise.all(mesh.services.map((one) => one.ready()));
	const [row] = (await mesh.db.pool.query<{ at: Date }>('select now() as at')).rows;
	await mesh.submitter.change(`/v1/mail-servers/${servers.limited}`, { ratePerMinute: null });
	say('everything is mended');
	return row?.at ?? new Date();
}

/** I14: all ends without a person. Answers what has not. */
async function drain({ mesh }: Ground, say: (line: string) => void): Promise<string[]> {
	const began = performance.now();
	try {
		await mesh.drained(DRAIN_MS);
		say(`drained after ${Math.round((performance.now() - began) / 1_000)} s`);
		return [];
	} catch (error) {
		return [`I14 ${error instanceof Error ? error.message : String(error)}`];
	}
}

/** I14: what the broker still has, although nothing waits in the tables. */
async function leftInTopics({ mesh }: Ground): Promise<string[]> {
	const left = async (): Promise<string[]> => {
		const backlogs = await Promise.all(
			LANES.flatMap((lane) =>
				[false, true].map(async (dead) => ({ place: `${lane}${dead ? ' DLQ' : ''}`, n: await mesh.backlog({ lane, dead }) })),
			),
		);
		return backlogs.filter(({ n }) => n > 0).map(({ place, n }) => `I14 ${n} messages of ${place} are not acknowledged`);
	};
	// Acknowledgements are on their way for a moment.
	await eventually(async () => (await left()).length === 0, { within: 30_000, what: 'empty topics' }).catch(() => undefined);
	return await left();
}

async function brokenOf(ground: Ground): Promise<string[]> {
	const { mesh } = ground;
	const { rows } = await mesh.db.pool.query<{ id: string; n: number }>(
		`select subject_id::text as id, count(*)::int as n from audit_event where action in ('message.retry', 'message.release') group by 1`,
	);
	const retries = new Map(rows.map(({ id, n }) => [id, n]));
	const evidence = {
		db: mesh.db,
		answered: mesh.submitter.answered,
		mails: ground.mails(),
		lines: ground.lines(),
		secrets: SECRETS,
		retries,
	};
	return [...mesh.submitter.faults, ...(await brokenPromises(evidence))];
}

async function figuresOf(ground: Ground, deeds: readonly Deed[]): Promise<Record<string, unknown>> {
	const { mesh } = ground;
	const count = (pattern: RegExp): number => deeds.filter((one) => pattern.test(one.text)).length;
	const { rows } = await mesh.db.pool.query<Record<string, number>>(`
		select (select count(*)::int from send_state) as records, (select count(*)::int from delivery_attempt) as attempts,
			(select count(*)::int from delivery_attempt where ambiguous) as "ambiguousAttempts",
			(select count(*)::int from delivery_attempt where answer like 'the worker did not%' or provider is null) as rescued,
			(select count(*)::int from send_state where status = 'HELD') as held, (select count(*)::int from dead_letter_message) as letters,
			(select sum(waits)::int from send_state) as waits`);
	const accepts = new Map<string, number>();
	for (const { messageId, to } of ground.mails())
		for (const address of to) accepts.set(messageId + address, (accepts.get(messageId + address) ?? 0) + 1);
	const statuses = await mesh.db.pool.query<{ status: string; n: number }>(
		'select status, count(*)::int as n from send_state group by 1 order by 1',
	);
	return {
		answered: mesh.submitter.answered.length,
		mails: ground.mails().length,
		...rows[0],
		duplicates: [...accepts.values()].reduce((sum, n) => sum + n - 1, 0),
		kills: Object.fromEntries(
			['message-api', 'outbox-publisher', 'mail-sender', 'dead-letter'].map((service) => [service, count(new RegExp(`^kill: ${service}`))]),
		),
		restarts: { polite: count(/^stop/), PostgreSQL: count(/PostgreSQL: (fast|immediate)/), Pulsar: count(/Pulsar/), Redis: count(/Redis/) },
		misbehaviour: count(/misbehave|log-in|host/),
		statuses: Object.fromEntries(statuses.rows.map(({ status, n }) => [status, n])),
	};
}

/** I9: with a host away for which mails wait, the mails of a server that nobody breaks arrive. Answers what is wrong. */
async function quietIsServed({ mesh, servers, host }: Ground): Promise<string[]> {
	await host.leave();
	await Promise.all(
		Array.from({ length: 60 }, (_, n) =>
			mesh.submitter.submit({ serverId: n % 3 === 0 ? servers.quiet : servers.dead }, { within: 180_000 }),
		),
	);
	const served = await eventually(
		async () => {
			const { rows } = await mesh.db.pool.query<{ n: number }>(
				`select count(*)::int as n from send_state s join send_record r using (id) where r.config_id = $1 and s.status in ('PENDING', 'RETRY', 'SENDING')`,
				[servers.quiet],
			);
			return rows[0]?.n === 0;
		},
		{ within: 60_000, what: 'the mails of the server that nobody breaks' },
	).then(
		() => [],
		(error: Error) => [`I9 ${error.message}`],
	);
	await host.comeBack();
	return served;
}
