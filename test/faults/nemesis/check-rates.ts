import type { Db } from '@tidings/db';

/** What is known about the limit of a server while it held. */
export type Limited = {
	readonly configId: string;
	readonly perMinute: number;
	/** How often Redis came back empty: each may allow one window more. */
	readonly resets: number;
	/** When the limit was lifted, of the database's clock. */
	readonly until: Date;
};

/** I7: recipients that were handed to a limited server, beyond what its minutes allow; every attempt that was claimed counts. Empty when the limit held. */
export async function brokenRates(db: Db, { configId, perMinute, resets, until }: Limited): Promise<string[]> {
	const { rows } = await db.pool.query<{ minute: string; asked: number }>(
		`select to_char(date_trunc('minute', a.started_at), 'HH24:MI') as minute, sum((select count(*) from send_recipient q where q.id = a.id))::int as asked
		from delivery_attempt a where a.config_id = $1 and a.started_at < $2 and a.provider_message_id is not null group by 1 order by 1`,
		[configId, until],
	);
	// A permit may be taken at the end of one minute and used at the beginning of the next.
	const most = perMinute * (2 + resets);
	const peaks = rows
		.filter((row) => row.asked > most)
		.map((row) => `I7 ${row.asked} recipients in the minute ${row.minute}, and ${most} are the most`);
	const all = rows.reduce((sum, row) => sum + row.asked, 0);
	const allowed = perMinute * (rows.length + 1 + resets);
	return all <= allowed ? peaks : [...peaks, `I7 ${all} recipients in ${rows.length} minutes, and ${allowed} are the most`];
}
