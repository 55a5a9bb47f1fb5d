import type { Queryable } from '../client.js';
import type { GateClosing, ProbePace } from '../gating.js';
import { IS_CLOSED } from './hand-back.js';

/** A failing provider is looked at again after so long at most. */
const PROBE_MOST_SECONDS = 900;

/** When the next probe of gate `g` is, `seconds` (SQL) being the first wait: doubled with each failure in a row, ±20 %. */
export const nextProbe = (seconds: string): string =>
	`now() + make_interval(secs => least(${PROBE_MOST_SECONDS}, ${seconds} * power(2, least(g.failures, 20))) * (0.8 + 0.4 * random()))`;

/** A gate that was closed, and whose config it is. */
export type ClosedGate = { readonly configId: string; readonly tenantId: string };

/**
 * Closes gates, and answers which of them this call has closed: what is closed already stays as it is, but that a full window gives way to a provider's no; and nothing is closed by
 * evidence about a version of the config that is no longer. Name each config at most once. Rows are locked in id order.
 */
export async function closeGates(pool: Queryable, closings: readonly GateClosing[], { probeSeconds }: ProbePace): Promise<ClosedGate[]> {
	const of = <K extends keyof GateClosing>(key: K): GateClosing[K][] => closings.map((one) => one[key]);
	const { rows } = await pool.query<{ id: string; tenant_id: string }>({
		name: 'close-gates',
		text: `
			with c as materialized (
				select * from unnest($1::uuid[], $2::int[], $3::text[], $4::text[], $5::float8[], $6::jsonb[]) as c (id, config_version, reason, detail, seconds, error)
			),
			-- A config without a gate could never be closed, and what it refuses would be tried without end: whoever comes next finds one.
			missing as (
				insert into gate (id, tenant_id, kind)
				select c.id, s.tenant_id, 'CONFIG' from c join mail_send_server_config s on s.id = c.id where not exists (select from gate where gate.id = c.id)
				on conflict do nothing
			),
			-- Locked before the gates, as whoever changes a config locks them: else the version that is compared could be gone already.
			config as materialized (select id, version from mail_send_server_config where id = any($1::uuid[]) order by id for share),
			open as materialized (
				select g.id from gate g join c using (id)
				where (not ${IS_CLOSED} or (g.reason = 'RATE' and c.reason <> 'RATE'))
					and (c.config_version is null or c.config_version = (select version from config where id = g.id))
				order by g.id for no key update of g
			)
			update gate g set
				closed_until = case when c.seconds is null then 'infinity' else now() + make_interval(secs => c.seconds) end,
				reason = c.reason,
				detail = left(c.detail, 1000),
				-- A full window says nothing about the provider: a gate that was half open stays so.
				half_open = case when c.reason = 'RATE' then g.half_open else c.seconds is not null end,
				trial_until = case when c.reason = 'RATE' then g.trial_until end,
				probe_at = case when c.seconds is null then ${nextProbe('$7::float8')} end,
				failures = g.failures + case when c.reason = 'RATE' then 0 else 1 end,
				last_error = coalesce(c.error, g.last_error),
				version = g.version + 1,
				changed_at = now()
			from c where g.id = c.id and g.id = any(array(select id from open)) and (not ${IS_CLOSED} or (g.reason = 'RATE' and c.reason <> 'RATE'))
			returning g.id, g.tenant_id`,
		values: [
			of('configId'),
			of('version'),
			of('reason'),
			of('detail'),
			of('seconds'),
			of('error').map((error) => (error === null ? null : JSON.stringify(error))),
			probeSeconds,
		],
	});
	return rows.map((row) => ({ configId: row.id, tenantId: row.tenant_id }));
}
