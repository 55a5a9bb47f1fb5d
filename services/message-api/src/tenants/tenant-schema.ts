import type { Db } from '@tidings/db';
import { LIMITS, type RetryTypes, TENANT_STATUSES } from '@tidings/model';
import { pointerTo, RETRY_OVERRIDE, type TenantSettings } from '@tidings/runtime';
import { type Static, Type } from 'typebox';
import { type Faults, type Raw, rawOf } from '../checks/faults.js';
import { faultOfLine, LINE_FORM } from '../checks/text.js';
import { nullable, timeText } from '../routes/shapes.js';

const closed = { additionalProperties: false } as const;
const Name = Type.String({ ...LINE_FORM, minLength: 1, maxLength: 100, description: 'Unique among tenants that are not DELETED.' });
const apiRatePerSecond = nullable(
	Type.Integer({
		minimum: 1,
		maximum: 100_000,
		description: 'Requests a second of each of its callers. Null: as the operator has set it for all.',
	}),
);
const maxAgeHours = nullable(
	Type.Integer({
		minimum: 1,
		maximum: 720,
		description: 'How long a message without `validUntil` is tried, in hours from its first due time. Null: 72.',
	}),
);
/** Message types with a retry policy of their own at most. */
const MOST_TYPES = 100;

/** Written out, because a pattern for names would let one with a line break pass unchecked: see `checkSettings`. */
const retryTypes = Type.Unsafe<RetryTypes | null>({
	type: ['object', 'null'],
	additionalProperties: RETRY_OVERRIDE,
	maxProperties: MOST_TYPES,
	description:
		'Retry policies by message type, `*` for every type: any of the six fields each, and what is absent is taken from `*`, then from the operator’s. `maxAttempts` is fixed when a message is accepted, delays are as they stand when an attempt fails. It is replaced as a whole. Null: as the operator has set it.',
	'x-document': { propertyNames: { minLength: 1, maxLength: LIMITS.type, ...LINE_FORM['x-document'] } },
});
const GivenSettings = Type.Object(
	{
		apiRatePerSecond: Type.Optional(apiRatePerSecond),
		maxAgeHours: Type.Optional(maxAgeHours),
		retryTypes: Type.Optional(retryTypes),
	},
	{ ...closed, description: 'Merged field by field: what is absent stays, null goes back to the operator’s.' },
);

/** The body that makes a tenant. */
export const NewTenantSchema = Type.Object({ name: Name, settings: Type.Optional(GivenSettings) }, { $id: 'NewTenant', ...closed });

/** The body that changes one. */
export const TenantChangeSchema = Type.Object(
	{ name: Type.Optional(Name), settings: Type.Optional(GivenSettings) },
	{ $id: 'TenantChange', ...closed },
);

/** A tenant as answers show it. */
export const TenantSchema = Type.Object(
	{
		id: Type.String({ format: 'uuid' }),
		name: Type.String(),
		kind: Type.Enum(['TENANT', 'PLATFORM'], { description: '`PLATFORM`: the operator’s own; there is one.' }),
		status: Type.Enum([...TENANT_STATUSES], {
			description: 'Only an ACTIVE one takes messages. Nothing of a SUSPENDED one goes out. Of a DELETED one nothing else is left.',
		}),
		settings: Type.Object(
			{ apiRatePerSecond, maxAgeHours, retryTypes },
			{ description: 'What the operator has set for this tenant alone.' },
		),
		queued: Type.Unsafe<'deliver' | 'cancel' | null>({
			type: ['string', 'null'],
			enum: ['deliver', 'cancel', null],
			description: 'While it is DELETING: what becomes of what waits. Null otherwise.',
		}),
		createdAt: timeText('When it was made.'),
		updatedAt: timeText('When it was changed last.'),
	},
	{ $id: 'Tenant', description: 'The tenant as it is now.' },
);

/** A tenant to be shown in the document. */
export const TENANT_EXAMPLE = {
	id: '01930b5a-11aa-7d20-8c44-7be0a1d3c5f2',
	name: 'Shop',
	kind: 'TENANT',
	status: 'ACTIVE',
	settings: { apiRatePerSecond: 50, maxAgeHours: null, retryTypes: null },
	queued: null,
	createdAt: '2026-11-30T09:00:00.000Z',
	updatedAt: '2026-11-30T09:00:00.000Z',
} as const;

/** A tenant as it is stored. */
export type StoredTenant = Awaited<ReturnType<Db['prisma']['tenant']['findFirstOrThrow']>>;

/** Settings as a body gives them: only what is to be changed. */
export type SettingsChange = Static<typeof GivenSettings>;

/** Shows a tenant. */
export function showTenant(tenant: StoredTenant): Static<typeof TenantSchema> {
	const settings = tenant.settings as TenantSettings;
	return {
		id: tenant.id,
		name: tenant.name,
		kind: tenant.kind as 'TENANT',
		status: tenant.status as 'ACTIVE',
		settings: {
			apiRatePerSecond: settings.apiRatePerSecond ?? null,
			maxAgeHours: settings.maxAgeHours ?? null,
			retryTypes: settings.retryTypes ?? null,
		},
		queued: tenant.queued as 'deliver' | null,
		createdAt: tenant.createdAt.toISOString(),
		updatedAt: tenant.updatedAt.toISOString(),
	};
}

/** The settings as they are to be stored: those that stand, also such as only a newer release knows, with the change; what is null is left out. */
export function mergeSettings(standing: TenantSettings, change: SettingsChange = {}): Record<string, number | RetryTypes> {
	const merged = Object.entries({ ...standing, ...change });
	return Object.fromEntries(merged.flatMap(([name, value]) => (value === null || value === undefined ? [] : [[name, value]])));
}

/** A change of settings as the audit shows it: `maxAgeHours=24`, `retryTypes={"*":{"maxAttempts":3}}`. */
export function settingsTold(change: SettingsChange = {}): string[] {
	return Object.entries(change).map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`);
}

/** Adds what the schema does not see: a message type that none can have. */
export function checkSettings(body: Raw, faults: Faults): void {
	const types = rawOf(rawOf(body['settings'])?.['retryTypes']);
	for (const type of Object.keys(types ?? {}).slice(0, MOST_TYPES)) {
		const at = pointerTo('/settings/retryTypes', type);
		const { length } = type;
		const fault = faultOfLine(type);
		if (length === 0 || length > LIMITS.type)
			faults.add(at, length === 0 ? 'too-short' : 'too-long', `A message type has 1 to ${LIMITS.type} characters; this has ${length}.`);
		if (fault !== null) faults.add(at, 'control-character', fault);
	}
}
