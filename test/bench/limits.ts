import type { Queryable } from '@tidings/db';

/** As much as a mail server's windows can have, so that nothing is ever refused or put off: only the counting is to be seen. */
const MOST = 1_000_000_000;

/** Gives every mail server that there is a limit a minute and a day, and every tenant a monthly quota, none of which is ever reached; or takes all of them away. */
export async function setLimits(pool: Queryable, on: boolean): Promise<void> {
	await pool.query('update mail_send_server_config set rate_per_minute = $1, daily_limit = $1', [on ? MOST : null]);
	if (on)
		await pool.query(
			`insert into tenant_message_quota (tenant_id, channel, cap) select id, 'MAIL', $1 from tenant on conflict (tenant_id, channel) do update set cap = excluded.cap`,
			[MOST],
		);
	else await pool.query('delete from tenant_message_quota');
}

/** Runs once without limits and once with them. Every second round begins with the other one, so that neither gains by its place. */
export async function eachWay<T>(round: number, run: (limits: boolean) => Promise<T>): Promise<{ without: T; within: T }> {
	if (round % 2 === 0) {
		const without = await run(false);
		return { without, within: await run(true) };
	}
	const within = await run(true);
	return { without: await run(false), within };
}
