import type { AcceptResult, IdempotencyKey } from '@tidings/db';
import { newId, routeOf, type Trace } from '@tidings/model';
import type { Caller } from '@tidings/runtime';
import { maxAgeOf } from '../accept-mails.js';
import type { Acceptor } from '../accept-messages.js';
import { hashOfAddress } from '../checks/address.js';
import type { StoredServer } from './create-server.js';

/** Who tests which server, and where the mail goes. */
export type ServerTest = {
	readonly caller: Caller;
	readonly trace: Trace;
	readonly server: StoredServer;
	readonly tier: 'TENANT' | 'PLATFORM';
	/** An address as `readAddress` gives it; null: the server's own From. */
	readonly to: string | null;
	readonly idempotency: IdempotencyKey | null;
};

const ROUTE = routeOf('MAIL');

/** Accepts a mail that tests a mail server, also one that is not active: through the mesh as any other, but one attempt only, so that the server's own words are seen at once. */
export async function testServer(acceptor: Acceptor, { caller, trace, server, tier, to, idempotency }: ServerTest): Promise<AcceptResult> {
	const address = to ?? server.fromAddress;
	const subject = `Test of the mail server ${server.name}`;
	const text = `This mail tests the mail server "${server.name}" (${server.host}, port ${server.port}) of Tidings.\n\nThat you read it shows that the server takes mails. There is nothing to do.\n`;
	const record = {
		id: newId(),
		tenantId: caller.tenant.id,
		channel: 'MAIL',
		route: ROUTE,
		// A person waits for it.
		lane: 'urgent',
		type: 'tidings.test',
		scope: tier,
		configId: server.id,
		configTier: tier,
		metadata: {},
		traceId: trace.traceId,
		traceparent: trace.traceparent,
		dedupeKey: null,
		notBefore: null,
		validUntil: null,
		maxAgeSeconds: maxAgeOf(caller.tenant.settings),
		budgetMax: 1,
		subject,
		text,
		html: null,
		from: { address: server.fromAddress, name: server.fromName },
		replyTo: null,
		headers: { 'Auto-Submitted': 'auto-generated' },
		recipients: [{ role: 'to', address, name: null, addressHash: hashOfAddress(address) }],
		attachments: [],
		flowId: '',
	} as const;
	return await acceptor.accept({ records: [{ ...record }], idempotency }, subject.length + text.length + 1_000);
}
