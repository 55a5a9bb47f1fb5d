import { CAPABILITIES, type Capability, now, Problem } from '@tidings/model';
import type { Caller, OperationRequest } from '@tidings/runtime';
import type { Static } from 'typebox';
import { beginChecks, type Faults, lineOf, listOf, type Raw, refuseFaulty } from '../checks/faults.js';
import { readTime } from '../checks/time.js';
import { DEFAULT_GRACE, type NewApiKeySchema, type RotationSchema } from './api-key-shape.js';

/** A key that is wanted. Throws 422 with every fault, and 403 when it shall hold what the caller does not. */
export function readNewKey(
	request: OperationRequest,
	caller: Caller,
): { name: string; capabilities: readonly Capability[]; expiresAt: Date | null } {
	const { raw, faults } = beginChecks(request);
	lineOf(raw, 'name', '', faults);
	const expiresAt = readExpiry(raw, faults);
	const wanted = listOf(raw['capabilities'], CAPABILITIES.length);
	for (const [index, capability] of wanted.entries()) {
		if (wanted.indexOf(capability) < index) faults.add(`/capabilities/${index}`, 'duplicate', 'This capability stands twice.');
		if (capability === 'platform' && caller.tenant.kind !== 'PLATFORM')
			faults.add(`/capabilities/${index}`, 'platform-only', 'Only keys of the platform itself may hold it.');
	}
	refuseFaulty(faults);
	const { name, capabilities } = request.body as Static<typeof NewApiKeySchema>;
	const lacking = capabilities.filter((one) => !caller.capabilities.has(one));
	if (lacking.length > 0)
		throw new Problem('capability-missing', `Nobody can give what they do not hold: ${lacking.map((one) => `\`${one}\``).join(', ')}.`);
	return { name, capabilities, expiresAt };
}

/** How a key shall be rotated. Throws 422 with every fault. */
export function readRotation(request: OperationRequest): { graceSeconds: number; expiresAt: Date | null } {
	const { raw, faults } = beginChecks(request);
	const expiresAt = readExpiry(raw, faults);
	refuseFaulty(faults);
	const { graceSeconds = DEFAULT_GRACE } = (request.body ?? {}) as Static<typeof RotationSchema>;
	return { graceSeconds, expiresAt };
}

function readExpiry(raw: Raw, faults: Faults): Date | null {
	const given = faults.isTooLong('/expiresAt') ? undefined : raw['expiresAt'];
	if (typeof given !== 'string') return null;
	const expiresAt = readTime(given);
	if (expiresAt === null) faults.add('/expiresAt', 'bad-format', '`expiresAt` must be an RFC 3339 time with a zone.');
	else if (expiresAt <= now()) faults.add('/expiresAt', 'in-the-past', 'This time has passed already.');
	return expiresAt;
}
