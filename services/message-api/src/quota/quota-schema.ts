import { MOST_MONTHLY, type MonthlyCaps, QUOTA_CHANNELS, type QuotaChannel } from '@tidings/model';
import { type Static, Type } from 'typebox';
import { nullable } from '../routes/shapes.js';

/** The fields of a quota, by channel. */
export const QUOTA_FIELDS = { MAIL: 'mailMonthly', SMS: 'smsMonthly', LINE: 'lineMonthly' } as const;

const cap = (what: string) => nullable(Type.Integer({ minimum: 0, maximum: MOST_MONTHLY, description: `${what}. Null: no limit.` }));
const caps = {
	mailMonthly: cap('Recipients of mails in a calendar month'),
	smsMonthly: cap('Text messages in a calendar month'),
	lineMonthly: cap('LINE messages in a calendar month'),
};

/** The body that sets a tenant's quota. */
export const NewQuotaSchema = Type.Object(
	{
		mailMonthly: Type.Optional(caps.mailMonthly),
		smsMonthly: Type.Optional(caps.smsMonthly),
		lineMonthly: Type.Optional(caps.lineMonthly),
	},
	{ $id: 'NewQuota', additionalProperties: false, description: 'What is absent goes back to the operator’s default.' },
);

/** A quota as answers show it. */
export const QuotaSchema = Type.Object(
	{
		tenantId: Type.String({ format: 'uuid', description: 'Whose it is.' }),
		...caps,
		defaults: Type.Array(Type.Enum([...QUOTA_CHANNELS]), {
			description: 'The channels for which nothing is set for this tenant: the operator’s default is shown.',
		}),
	},
	{ $id: 'Quota', description: 'What a tenant may send in a calendar month (UTC), as it holds now.' },
);

/** A quota to be shown in the document. */
export const QUOTA_EXAMPLE = {
	tenantId: '01930b5a-11aa-7d20-8c44-7be0a1d3c5f2',
	mailMonthly: 100_000,
	smsMonthly: null,
	lineMonthly: 5_000,
	defaults: ['LINE'],
};

/** What the operator has set for one tenant; a channel that is absent has the default. */
export type SetCaps = Partial<MonthlyCaps>;

/** Shows a quota. */
export function showQuota(tenantId: string, set: SetCaps, byDefault: MonthlyCaps): Static<typeof QuotaSchema> {
	const capOf = (channel: QuotaChannel): number | null => (set[channel] === undefined ? byDefault[channel] : set[channel]);
	return {
		tenantId,
		mailMonthly: capOf('MAIL'),
		smsMonthly: capOf('SMS'),
		lineMonthly: capOf('LINE'),
		defaults: QUOTA_CHANNELS.filter((channel) => set[channel] === undefined),
	};
}
