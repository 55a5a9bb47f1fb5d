import { type Db, listUsage, tellWarnings } from '@tidings/db';
import { type MonthlyCaps, now, QUOTA_CHANNELS } from '@tidings/model';
import { callerOf, etagOf, type Operation, operation, refuseStale } from '@tidings/runtime';
import type { Logger, Metrics } from '@tidings/telemetry';
import { type Static, Type } from 'typebox';
import { beginChecks, refuseFaulty } from '../checks/faults.js';
import { findQuota } from '../quota/find-quota.js';
import { NewQuotaSchema, QUOTA_EXAMPLE, QUOTA_FIELDS, QuotaSchema, type SetCaps, showQuota } from '../quota/quota-schema.js';
import { setQuota } from '../quota/set-quota.js';
import { noSuchTenant } from '../tenants/act-on-tenant.js';
import { nullable } from './shapes.js';
import { tenantContextOf } from './tenants.js';

const Usage = Type.Object(
	{
		month: Type.String({ description: 'A calendar month in UTC, such as `2026-11`.' }),
		channel: Type.Enum([...QUOTA_CHANNELS]),
		used: Type.Integer({ minimum: 0, description: 'What was accepted: recipients of mails, or messages.' }),
		cap: nullable(
			Type.Integer({
				minimum: 0,
				description: 'What may be accepted; of a month that is over, as it was when its last message was accepted. Null: no limit.',
			}),
		),
		remaining: nullable(Type.Integer({ minimum: 0, description: 'What is left. Null: no limit.' })),
	},
	{ $id: 'QuotaUsage', description: 'What was accepted for one channel in one month.' },
);

/** Schemas that these operations refer to. */
export const QUOTA_SCHEMAS = [NewQuotaSchema, QuotaSchema, Usage];

/** What these operations need. */
export type QuotaContext = {
	readonly db: Db;
	/** The caps of tenants for whom nothing is set. */
	readonly caps: MonthlyCaps;
	readonly log: Logger;
	readonly metrics: Metrics;
	forget(): void;
};

const shared = { tag: 'Quotas' } as const;
const ETAG = { ETag: 'Its state; a change of it names it in `If-Match`.' };

/** `GET /v1/quota-usage`, `GET` and `PUT /v1/tenants/{id}/quota`. */
export function quotaOperations(context: QuotaContext): Operation[] {
	return [usageOperation(context), readOperation(context), setOperation(context)];
}

function usageOperation({ db, caps }: QuotaContext): Operation {
	return operation({
		...shared,
		method: 'GET',
		path: '/v1/quota-usage',
		operationId: 'getQuotaUsage',
		access: 'quota:read',
		summary: 'What of the monthly quota is used',
		description:
			'Counted when a message is accepted, in the month of its acceptance (UTC): a mail costs its recipients (to, cc and bcc), another message one. Retries, repeats of an `Idempotency-Key`, duplicates by `dedupeKey` and `validateOnly` cost nothing. What is sent with the scope PLATFORM is counted for the platform itself.',
		query: Type.Object(
			{
				month: Type.Optional(
					Type.String({
						pattern: '^[1-9][0-9]{3}-(0[1-9]|1[0-2])$',
						'x-form': 'a month such as `2026-11`',
						description: 'A calendar month in UTC, such as `2026-11`. Default: this one.',
					}),
				),
			},
			{ additionalProperties: false },
		),
		answers: {
			200: Type.Object(
				{ data: Type.Array(Type.Ref('QuotaUsage'), { description: 'One for each channel.' }) },
				{ description: 'What was used in the month.' },
			),
		},
		example: { data: [{ month: '2026-11', channel: 'MAIL', used: 81_204, cap: 100_000, remaining: 18_796 }] },
		handle: async (request) => {
			const month = request.query.month ?? now().toISOString().slice(0, 7);
			const rows = await listUsage(db.pool, callerOf(request).tenant.id, { month, caps });
			const remaining = (used: number, cap: number | null): number | null => (cap === null ? null : Math.max(0, cap - used));
			return { data: rows.map(({ channel, used, cap }) => ({ month, channel, used, cap, remaining: remaining(used, cap) })) };
		},
	});
}

function readOperation({ db: { prisma }, caps }: QuotaContext): Operation {
	return operation({
		...shared,
		method: 'GET',
		path: '/v1/tenants/{id}/quota',
		operationId: 'getQuota',
		access: 'platform',
		summary: 'What a tenant may send in a month',
		answers: { 200: Type.Ref('Quota') },
		headers: ETAG,
		example: QUOTA_EXAMPLE,
		handle: async (request, reply) => {
			const id = request.params.id.toLowerCase();
			// One snapshot: the tag belongs to what is shown.
			const [tenant, set] = await prisma.$transaction(
				async (tx) => [await tx.tenant.findUnique({ where: { id }, select: { quotaVersion: true } }), await findQuota(tx, id)] as const,
				{ isolationLevel: 'RepeatableRead' },
			);
			if (tenant === null) throw noSuchTenant();
			reply.header('etag', etagOf(tenant.quotaVersion));
			return showQuota(id, set, caps);
		},
	});
}

function setOperation(context: QuotaContext): Operation {
	return operation({
		...shared,
		method: 'PUT',
		path: '/v1/tenants/{id}/quota',
		operationId: 'setQuota',
		access: 'platform',
		summary: 'Set what a tenant may send in a month',
		description:
			'Replaces all of it: a channel that is absent goes back to the operator’s default, null lifts the limit. It holds at once for what is accepted from then on; what is used in this month stays used. The platform’s own tenant has a quota too, for what is sent with the scope PLATFORM.',
		guarded: true,
		body: Type.Ref('NewQuota'),
		collectsFaults: true,
		answers: { 200: Type.Ref('Quota') },
		headers: ETAG,
		errors: ['state-conflict'],
		example: { mailMonthly: 100_000, smsMonthly: null },
		answerExamples: { 200: QUOTA_EXAMPLE },
		handle: async (request, reply) => {
			refuseFaulty(beginChecks(request).faults);
			const id = request.params.id.toLowerCase();
			const { version, set, warnings } = await setQuota(tenantContextOf(context, request), id, {
				set: capsIn(request.body as Static<typeof NewQuotaSchema>),
				refuse: (standing) => refuseStale(request, standing),
				caps: context.caps,
			});
			tellWarnings(warnings, context);
			reply.header('etag', etagOf(version));
			return showQuota(id, set, context.caps);
		},
	});
}

function capsIn(body: Static<typeof NewQuotaSchema>): SetCaps {
	return Object.fromEntries(
		QUOTA_CHANNELS.flatMap((channel) => {
			const cap = body[QUOTA_FIELDS[channel]];
			return cap === undefined ? [] : [[channel, cap]];
		}),
	);
}
