import type { ActiveServer } from '@tidings/db';
import type { Fault } from '@tidings/model';
import type { MailDraft } from '../mail/draft.js';

/** The server that a mail goes through, or why there is none. */
export type Resolved = { readonly server: ActiveServer } | { readonly fault: Fault };

/**
 * Chooses the server of a mail: the pinned one, which must be the tenant's own and active; else the tenant's default; else the platform's default, silently.
 * Scope PLATFORM knows the platform's only. The server must allow the From address.
 */
export function resolveServer(servers: readonly ActiveServer[], tenantId: string, draft: MailDraft): Resolved {
	const platform = servers.filter((one) => one.tier === 'PLATFORM');
	const own = draft.scope === 'PLATFORM' ? platform : servers.filter((one) => one.tenantId === tenantId);
	if (draft.serverId !== null) {
		const pinned = own.find((one) => one.id === draft.serverId);
		if (pinned !== undefined) return checkFrom(pinned, draft);
		return {
			fault: { pointer: `${draft.at}/serverId`, code: 'server-unknown', detail: 'This is not an active mail server of the tenant.' },
		};
	}
	const server = own.find((one) => one.isDefault) ?? platform.find((one) => one.isDefault);
	if (server !== undefined) return checkFrom(server, draft);
	return {
		fault: {
			pointer: draft.at,
			code: 'no-mail-server',
			detail: 'There is no active default mail server, neither of the tenant nor of the platform. Create one with `POST /v1/mail-servers`.',
		},
	};
}

function checkFrom(server: ActiveServer, draft: MailDraft): Resolved {
	if (draft.from === null || allowsFrom(server.allowedFrom, draft.from.address)) return { server };
	return { fault: { pointer: `${draft.at}/from`, code: 'from-not-allowed', detail: 'The mail server does not allow this From address.' } };
}

/** Whether a From address is covered: named exactly, or by `*@domain`. Both sides are as `readAddress` gives them. */
export function allowsFrom(allowed: readonly string[], address: string): boolean {
	return allowed.includes(address) || allowed.includes(`*${address.slice(address.lastIndexOf('@'))}`);
}
