import { setTimeout as pause } from 'node:timers/promises';
import { newId } from '@tidings/model';
import { SECRETS } from '../../harness/process-mesh.js';
import type { Chance } from './chance.js';
import type { Ground, Servers } from './ground.js';

/** Callers and people at work until `over`. Answers how often people acted. */
export async function keepBusy(ground: Ground, chance: Chance, over: AbortSignal): Promise<{ acts: number }> {
	const people = { acts: 0 };
	const caller = async (): Promise<void> => {
		while (!over.aborted) {
			await ground.mesh.submitter.submit(newMail(ground.servers, chance), { within: 180_000 });
			await pause(chance.between(20, 160));
		}
	};
	const person = async (): Promise<void> => {
		while (!over.aborted) {
			await pause(chance.between(300, 900));
			// The API may be away, the message in another state: people meet that, too.
			if (await act(ground, chance).catch(() => false)) people.acts += 1;
		}
	};
	await Promise.all([caller(), caller(), caller(), caller(), person()]);
	return people;
}

const SHARE: readonly (keyof Servers)[] = ['plain', 'plain', 'plain', 'plain', 'plain', 'hold', 'hold', 'dead', 'quiet', 'limited'];

/** A mail of one to four recipients through some server. */
function newMail(servers: Servers, chance: Chance): Record<string, unknown> {
	const mail = newId();
	const to = Array.from({ length: chance.between(1, 4) }, (_, n) => `${SECRETS[0]}-${mail}-${n}@example.com`);
	return { to, serverId: servers[chance.pick(SHARE)], priority: chance.pick(['urgent', 'normal', 'bulk']) };
}

/** Does to some message or letter what a person would. */
async function act({ mesh: { submitter } }: Ground, chance: Chance): Promise<boolean> {
	const find = async (path: string): Promise<{ id: string } | undefined> => {
		const { data } = (await submitter.call(path)).body;
		return data.length === 0 ? undefined : chance.pick(data);
	};
	const what = chance.pick(['retry', 'cancel', 'release', 'replay', 'replay', 'replay all', 'discard'] as const);
	if (what === 'replay all') {
		const { status } = await submitter.call('/v1/dead-letter-replays', { filter: {}, ratePerSecond: 200, note: 'again' });
		return status === 202;
	}
	const [path, body] = {
		retry: ['/v1/messages?status=DEAD_LETTER&limit=20', { note: 'again' }],
		cancel: ['/v1/messages?status=RETRY&limit=20', {}],
		release: ['/v1/messages?status=HELD&limit=20', { resolution: 'resend' }],
		replay: ['/v1/dead-letters?status=PENDING&limit=20', { note: 'again' }],
		// Of what is too late nobody wants to know any more.
		discard: ['/v1/dead-letters?status=PENDING&source=EXPIRED&limit=20', { note: 'too late' }],
	}[what] as [string, object];
	const one = await find(path);
	if (one === undefined) return false;
	await submitter.call(`/v1/${what === 'replay' || what === 'discard' ? 'dead-letters' : 'messages'}/${one.id}:${what}`, body);
	return true;
}
