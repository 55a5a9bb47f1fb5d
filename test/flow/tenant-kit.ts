import type { Db } from '@tidings/db';
import { newId } from '@tidings/model';
import type { Answer, TestApi } from '../harness/api.js';
import { eventually } from '../harness/eventually.js';
import { makeSender, type Sender } from '../harness/records.js';
import type { SmtpSink } from '../harness/smtp-sink.js';

/** A tenant with a server and a key, as a caller uses it. */
export type TestTenant = Sender & {
	readonly key: string;
	/** Ids that were answered with 202. */
	readonly answered: string[];
	/** Submits a batch; answers its status. */
	submit(count: number, change?: object): Promise<number>;
	/** Submits batch after batch until `stop`, which answers the statuses that were met, or until one is refused. No more than `ahead` have not arrived yet. */
	load(count: number, ahead?: number): { stop(): Promise<ReadonlySet<number>> };
};

/** Makes a tenant whose mails go to the sink, at an address of its own. */
export async function makeTenant(db: Db, api: TestApi, sink: SmtpSink): Promise<TestTenant> {
	const sender = await makeSender(db, { host: sink.host, port: sink.port });
	const capabilities = ['messages:send', 'messages:read', 'messages:act'];
	const made = await api.call('/v1/api-keys', {
		key: api.platformKey,
		headers: { 'tidings-tenant': sender.tenantId },
		body: { name: 'k', capabilities },
	});
	const { key } = made.body;
	const answered: string[] = [];
	const submit = async (count: number, change: object = {}): Promise<number> => {
		const item = { to: [addressOf(sender)], subject: 'Hello', text: 'Hello', ...change };
		const items = Array.from({ length: count }, () => item);
		const { status, body } = await api.call('/v1/mails:batch', { key, headers: { 'idempotency-key': newId() }, body: { items } });
		if (status === 202) answered.push(...body.ids);
		return status;
	};
	return {
		...sender,
		key,
		answered,
		submit,
		load: (count, ahead = Number.POSITIVE_INFINITY) => {
			let stopped = false;
			const met = new Set<number>();
			const run = async (): Promise<void> => {
				while (!stopped && !met.has(403)) {
					met.add(await submit(count));
					await eventually(() => stopped || answered.length - arrivedOf(sink, sender) < ahead, { what: 'mails to arrive', within: 30_000 });
				}
			};
			const running = run();
			return {
				stop: async () => {
					stopped = true;
					await running;
					return met;
				},
			};
		},
	};
}

function addressOf({ tenantId }: Sender): string {
	return `${tenantId}@example.com`;
}

/** How many mails of a tenant the sink has. */
export function arrivedOf(sink: SmtpSink, tenant: Sender): number {
	return sink.mails.filter((mail) => mail.to.includes(addressOf(tenant))).length;
}

/** How many records of a tenant are in which state. */
export async function statesOf(db: Db, { tenantId }: Sender): Promise<Record<string, number>> {
	const { rows } = await db.pool.query<{ status: string; n: number }>(
		'select status, count(*)::int as n from send_state where tenant_id = $1 group by 1',
		[tenantId],
	);
	return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

/** Acts on a tenant as the operator. */
export async function act(api: TestApi, { tenantId }: Sender, verb: ':suspend' | ':resume' | '?queued=cancel' | ''): Promise<Answer> {
	const path = `/v1/tenants/${tenantId}${verb}`;
	if (verb.startsWith(':')) return await api.call(path, { key: api.platformKey, body: {} });
	return await api.call(path, { key: api.platformKey, method: 'DELETE', headers: { 'if-match': '*' } });
}

/** Whether nothing of a halted tenant is under way any more: the statements that began before it was halted are over, and no sender has anything of it. */
export async function isSettled(db: Db, tenant: Sender): Promise<boolean> {
	const { rows } = await db.pool.query<{ n: number }>(
		`select count(*)::int as n from pg_stat_activity
		where datname = current_database() and state <> 'idle' and xact_start < (select moved_at from tenant where id = $1)`,
		[tenant.tenantId],
	);
	return rows[0]?.n === 0 && (await statesOf(db, tenant))['SENDING'] === undefined;
}
