import type { Queryable } from '../client.js';

/** The channel on which those who work off replays listen. */
export const REPLAY_CHANNEL = 'tidings_replays';

/** Tells those who work off replays that there is a new one, when the caller's transaction commits. Nobody may be listening: they look by themselves now and then. */
export async function callReplayers(client: Queryable): Promise<void> {
	await client.query({ name: 'call-replayers', text: `select pg_notify('${REPLAY_CHANNEL}', '')::text as told` });
}
