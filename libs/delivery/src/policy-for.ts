import type { ClaimedRecord } from '@tidings/db';
import { type Outcome, overridePolicy, type RetryPolicy } from '@tidings/model';
import type { DeliveryContext } from './context.js';

/**
 * The retry policy by which an outcome is judged: the operator's for the message's type, with what the tenant has of its own over it, field by field. The tenant is looked up only where
 * something is to be tried again. When that cannot be done, for the process ends while the database is away, the operator's holds: what was sent must be settled.
 */
export async function policyFor(context: DeliveryContext, { tenantId, type }: ClaimedRecord, outcome: Outcome): Promise<RetryPolicy> {
	const policy = context.policyOf(type);
	const { retryTypesOf } = context;
	if (retryTypesOf === undefined || !mayRetry(outcome)) return policy;
	try {
		return overridePolicy(policy, await context.persist(async () => await retryTypesOf(tenantId)), type);
	} catch (error) {
		context.log.warn({ err: error, tenantId }, 'a tenant’s own retry policies could not be read; the general ones hold for this attempt');
		return policy;
	}
}

function mayRetry(outcome: Outcome): boolean {
	return outcome.kind === 'ambiguous' || (outcome.kind === 'answered' && outcome.recipients.some((one) => one.kind === 'refused'));
}
