import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { eventually } from '../../harness/eventually.js';
import type { ServiceProcess } from '../../harness/mesh-process.js';
import type { SinkAnswer, SinkRule, SinkStage } from '../../harness/smtp-sink.js';
import type { Chance } from './chance.js';
import type { Ground } from './ground.js';

/** Something that the nemesis does. What it breaks is whole again when it resolves. Answers what it did, for the story. */
export type Act = {
	readonly name: string;
	/** How often it is done beside the others. */
	readonly weight: number;
	/** Others go on meanwhile. */
	readonly aside?: true;
	run(ground: Ground, chance: Chance): Promise<string>;
};

const alive = ({ mesh, held }: Ground): ServiceProcess[] => mesh.services.filter((one) => one.running && !held.has(one));
const named = (one: ServiceProcess): string => `${one.service} ${one.pid}`;

const kill: Act = {
	name: 'kill',
	weight: 10,
	run: async (ground, chance) => {
		const one = chance.pick(alive(ground));
		const who = named(one);
		ground.held.add(one);
		await one.kill();
		one.restart();
		ground.held.delete(one);
		return who;
	},
};

const stop: Act = {
	name: 'stop politely',
	weight: 2,
	aside: true,
	run: async (ground, chance) => {
		const one = chance.pick(alive(ground));
		const who = named(one);
		ground.held.add(one);
		await one.term();
		one.restart();
		ground.held.delete(one);
		return who;
	},
};

/** Longer than a lease: somebody else takes what it holds, and then it goes on. */
const freeze: Act = {
	name: 'freeze past a lease',
	weight: 1,
	aside: true,
	run: async (ground, chance) => {
		const one = chance.pick(alive(ground).filter(({ service }) => service === 'mail-sender' || service === 'outbox-publisher'));
		ground.held.add(one);
		one.signal('SIGSTOP');
		await pause(chance.between(9_000, 13_000));
		one.signal('SIGCONT');
		ground.held.delete(one);
		return named(one);
	},
};

const database: Act = {
	name: 'restart PostgreSQL',
	weight: 2,
	run: async ({ postgres }, chance) => {
		const mode = chance.pick(['fast', 'immediate'] as const);
		await postgres.restart(mode);
		return mode;
	},
};

const sessions: Act = {
	name: 'cut sessions of PostgreSQL',
	weight: 2,
	run: async ({ mesh }) => {
		const { rowCount } = await mesh.db.pool.query(
			`select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'tidings-%' and pid <> pg_backend_pid()`,
		);
		return `${rowCount} sessions`;
	},
};

const broker: Act = {
	name: 'restart Pulsar',
	weight: 1,
	run: async ({ pulsar }, chance) => {
		await pulsar.kill();
		await pause(chance.between(0, 2_000));
		await pulsar.restart();
		return 'killed and started again';
	},
};

const redis: Act = {
	name: 'break Redis',
	weight: 3,
	run: async ({ redis: server }, chance) => {
		const how = chance.pick(['killed', 'silent', 'full', 'read-only'] as const);
		const client = new Redis(server.url, { lazyConnect: true });
		client.on('error', () => undefined);
		if (how === 'killed') await server.kill();
		else if (how === 'silent') server.pause();
		else if (how === 'full') await client.config('SET', 'maxmemory', '1');
		else await client.replicaof('127.0.0.1', 1);
		await pause(chance.between(500, 3_000));
		if (how === 'killed') await server.restart();
		else if (how === 'silent') server.resume();
		else if (how === 'full') await client.config('SET', 'maxmemory', '0');
		else await client.replicaof('NO', 'ONE');
		client.disconnect();
		return how;
	},
};

const host: Act = {
	name: 'take a host away',
	weight: 2,
	aside: true,
	run: async (ground, chance) => {
		await ground.host.leave();
		await pause(chance.between(1_000, 8_000));
		await ground.host.comeBack();
		return 'and back';
	},
};

/** A person pauses a server, and resumes it when there is an API again. */
const hold: Act = {
	name: 'pause a server',
	weight: 1,
	aside: true,
	run: async ({ mesh, servers }, chance) => {
		const name = chance.pick(['plain', 'hold', 'dead'] as const);
		const ask = async (act: string): Promise<boolean> =>
			(await mesh.submitter.call(`/v1/mail-servers/${servers[name]}:${act}`, {})).status === 200;
		await ask('pause').catch(() => false);
		await pause(chance.between(500, 3_000));
		await eventually(() => ask('resume'), { within: 180_000, what: 'an API that resumes a server' });
		return `${name}, and resumed`;
	},
};

const no = (code: number, enhancedCode: string): SinkAnswer => ({ kind: 'refuse', code, enhancedCode, text: 'as the nemesis wants it' });

/** How servers misbehave at each stage. */
const WRONGS: readonly (readonly [SinkStage, readonly SinkAnswer[]])[] = [
	['CONN', [no(421, '4.3.2'), { kind: 'close' }, { kind: 'hang' }]],
	['EHLO', [no(421, '4.3.0'), { kind: 'close' }]],
	['MAIL', [no(451, '4.3.0'), no(550, '5.1.8'), { kind: 'close' }]],
	['RCPT', [no(450, '4.2.0'), no(451, '4.7.1'), no(550, '5.1.1'), { kind: 'close' }]],
	['DATA', [no(451, '4.3.0'), no(554, '5.7.1'), { kind: 'close' }]],
	['BODY', [{ kind: 'close' }]],
	['DOT', [no(451, '4.3.0'), no(451, '4.4.2'), no(550, '5.7.1'), { kind: 'close' }, { kind: 'close', kept: true }, { kind: 'hang' }]],
];

const misbehave: Act = {
	name: 'let a mail server misbehave',
	weight: 14,
	aside: true,
	run: async ({ mesh, guarded }, chance) => {
		const [stage, answers] = chance.pick(WRONGS);
		const rule: SinkRule = { stage, answer: chance.pick(answers), times: chance.between(1, 8) };
		return await scripted(chance.happens(0.7) ? mesh.sink : guarded, rule, chance);
	},
};

const login: Act = {
	name: 'refuse a log-in',
	weight: 2,
	aside: true,
	run: async ({ guarded }, chance) =>
		await scripted(guarded, { stage: 'AUTH', answer: no(535, '5.7.8'), times: chance.between(1, 3) }, chance),
};

async function scripted(sink: Ground['guarded'], rule: SinkRule, chance: Chance): Promise<string> {
	const script = sink.script(rule);
	await pause(chance.between(1_000, 6_000));
	script.release();
	const { kind } = rule.answer;
	return `${rule.stage} ${kind}${rule.answer.kind === 'refuse' ? ` ${rule.answer.code} ${rule.answer.enhancedCode}` : ''}, met ${script.hits} times`;
}

const forget: Act = {
	name: 'flush Redis',
	weight: 1,
	run: async ({ redis: server }) => {
		await server.kill();
		await server.restart();
		return 'empty';
	},
};

/** Everything that the nemesis can do. */
export const ACTS: readonly Act[] = [kill, stop, freeze, database, sessions, broker, redis, forget, host, hold, misbehave, login];
