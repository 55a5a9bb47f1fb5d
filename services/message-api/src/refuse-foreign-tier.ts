import { Problem } from '@tidings/model';
import type { Caller } from '@tidings/runtime';

/** Throws 403 unless the caller may ask for the platform's own tier (`scope: PLATFORM`). `pointers`: where a body asks for it. */
export function refuseForeignTier(caller: Caller, pointers: readonly string[]): void {
	if (caller.capabilities.has('platform')) return;
	throw new Problem('capability-missing', 'Scope `PLATFORM` needs the capability `platform`, which the credential does not have.', {
		faults: pointers.map((pointer) => ({
			pointer,
			code: 'platform-only',
			detail: 'Only a credential with the capability `platform` may ask for this.',
		})),
	});
}
