import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { countRows, startApi, type TestApi } from '../../../test/harness/api.js';

let api: TestApi;
beforeAll(async () => {
	api = await startApi();
	const from = { address: 'hello@example.com', name: 'Tidings' };
	const made = await api.call('/v1/mail-servers', {
		body: { name: 'main', host: '127.0.0.1', port: 25, security: 'none', from, allowedFrom: ['*@example.com'] },
	});
	expect(made.status).toBe(201);
});
afterAll(async () => await api.stop());

const MAIL = { to: ['ann@example.com'], subject: 'Hello', text: 'Hi Ann' };
const FUTURE = '2999-01-01T00:00:00Z';
const file = (more: object): object => ({ attachments: [{ filename: 'a.txt', contentType: 'text/plain', content: 'aGk=', ...more }] });
const many = (n: number): string[] => Array.from({ length: n }, (_, i) => `a${i}@example.com`);
const marks = (n: number): object => Object.fromEntries(Array.from({ length: n }, (_, i) => [`m${i}`, 'x']));

/** What is changed in a right mail, and every fault that is named then. */
const WRONG: [string, object, string[]][] = [
	['no recipient', { to: undefined }, ['required /to']],
	['an empty list of recipients', { to: [] }, ['too-few /to']],
	['a text where a list stands', { to: 'ann@example.com' }, ['wrong-type /to']],
	['a number among recipients', { to: ['ann@example.com', 5] }, ['wrong-type /to/1']],
	['an address object without an address', { to: [{ name: 'Ann' }] }, ['required /to/0/address']],
	['101 recipients', { to: many(101) }, ['too-many /to']],
	['101 copies', { cc: many(101) }, ['too-many /cc']],
	['an unknown field', { subjekt: 'x' }, ['unknown-field /subjekt']],
	['a tenant in the body', { tenantId: 'x' }, ['unknown-field /tenantId']],
	['a file by path', file({ path: '/etc/passwd' }), ['unknown-field /attachments/0/path']],
	['a list in one address', { to: ['ann@example.com, bo@example.com'] }, ['bad-address /to/0']],
	['a quoted local part (K1)', { to: ['"a@other.example x"@internal.example'] }, ['bad-address /to/0']],
	['a line break in an address', { to: ['ann@example.com\r\nBcc: bo@example.com'] }, ['control-character /to/0']],
	['321 characters in an address', { to: [`${'a'.repeat(309)}@example.com`] }, ['too-long /to/0']],
	['one mailbox twice', { cc: ['ann@EXAMPLE.com'] }, ['duplicate /cc/0']],
	[
		'an encoded word in a name',
		{ to: [{ address: 'ann@example.com', name: '=?utf-8?Q?Bo_=3Cbo=40example.com=3E?=' }] },
		['bad-format /to/0/name'],
	],
	[
		'an encoded word in the name of replyTo',
		{ replyTo: { address: 'a@example.com', name: 'x =?UTF-8?b?QQ==?=' } },
		['bad-format /replyTo/name'],
	],
	['a private-use character in an address', { to: ['an\ue000n@example.com'] }, ['bad-address /to/0']],
	['a line break in a name', { to: [{ address: 'ann@example.com', name: 'Ann\nBcc: x' }] }, ['control-character /to/0/name']],
	['a group as replyTo', { replyTo: 'team:;' }, ['bad-address /replyTo']],
	['a From that the server does not allow', { from: 'me@other.example' }, ['from-not-allowed /from']],
	['a From of a subdomain', { from: { address: 'me@sub.example.com' } }, ['from-not-allowed /from']],
	['no subject', { subject: undefined }, ['no-content /subject']],
	['no body', { text: undefined }, ['no-content /text']],
	['an empty body', { text: '' }, ['no-content /text']],
	['a template', { subject: undefined, text: undefined, template: { code: 'x', model: { a: 1 } } }, ['not-available /template']],
	['501 characters of subject', { subject: 'a'.repeat(501) }, ['too-long /subject']],
	['a line break in the subject', { subject: 'a\r\nBcc: x' }, ['control-character /subject']],
	['U+2028 in the subject', { subject: 'a\u2028b' }, ['control-character /subject']],
	['DEL in the subject', { subject: 'a\u007fb' }, ['control-character /subject']],
	['a lone surrogate in the subject', { subject: 'a\ud83db' }, ['control-character /subject']],
	['NUL in the text', { text: 'a\0b' }, ['control-character /text']],
	['ESC in the HTML', { html: 'a\u001bb' }, ['control-character /html']],
	['a lone surrogate in the HTML', { html: '\udc00' }, ['control-character /html']],
	['1,048,577 characters of text', { text: 'a'.repeat(1_048_577) }, ['too-long /text']],
	['NUL in the type', { type: 'a\0' }, ['control-character /type']],
	['101 characters of type', { type: 'a'.repeat(101) }, ['too-long /type']],
	['an unknown priority', { priority: 'high' }, ['not-one-of /priority']],
	['an unknown scope', { scope: 'ALL' }, ['not-one-of /scope']],
	['a server id that is none', { serverId: 'main' }, ['bad-format /serverId']],
	['a server id as a URN', { serverId: 'urn:uuid:01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11' }, ['bad-format /serverId']],
	['a server id of a version that does not exist', { serverId: '01930b5e-7d5a-fc3e-9b1a-3f6f0e6b2c11' }, ['bad-format /serverId']],
	['a server of nobody', { serverId: '01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11' }, ['server-unknown /serverId']],
	['101 characters of dedupe key', { dedupeKey: 'a'.repeat(101) }, ['too-long /dedupeKey']],
	['NUL in the dedupe key', { dedupeKey: 'a\0' }, ['control-character /dedupeKey']],
	['a time without a zone', { notBefore: '2026-11-30T09:00:00' }, ['bad-format /notBefore']],
	['a time beyond the year 9999', { notBefore: '9999-12-31T23:59:59-01:00' }, ['bad-format /notBefore']],
	['a day that no calendar has', { notBefore: '2026-02-30T09:00:00Z' }, ['bad-format /notBefore']],
	['a validUntil that has passed', { validUntil: '2020-01-01T00:00:00Z' }, ['in-the-past /validUntil']],
	['validUntil before notBefore', { notBefore: FUTURE, validUntil: '2998-01-01T00:00:00Z' }, ['out-of-order /validUntil']],
	['17 marks', { metadata: marks(17) }, ['too-many /metadata']],
	['257 characters in a mark', { metadata: { a: 'x'.repeat(257) } }, ['too-long /metadata/a']],
	['a number in a mark', { metadata: { a: 1 } }, ['wrong-type /metadata/a']],
	['NUL in a mark', { metadata: { a: '\0' } }, ['control-character /metadata/a']],
	['a lone surrogate in the name of a mark', { metadata: { 'a\ud800': 'x' } }, ['control-character /metadata/a\ud800']],
	['65 characters in the name of a mark', { metadata: { ['a'.repeat(65)]: 'x' } }, [`too-long /metadata/${'a'.repeat(65)}`]],
	[
		'a header of ours',
		{ headers: { Subject: 'x', 'Content-Type': 'text/html', Bcc: 'bo@example.com' } },
		['header-not-allowed /headers/Subject', 'header-not-allowed /headers/Content-Type', 'header-not-allowed /headers/Bcc'],
	],
	['a header name with a line break', { headers: { 'X-A\nBcc': 'x' } }, ['header-not-allowed /headers/X-A\nBcc']],
	['a header name with a colon', { headers: { 'X-A: b': 'x' } }, ['header-not-allowed /headers/X-A: b']],
	['a header value with a line break', { headers: { 'X-A': 'a\r\n b' } }, ['control-character /headers/X-A']],
	['a header twice', { headers: { 'X-A': 'a', 'x-a': 'b' } }, ['duplicate /headers/x-a']],
	['999 characters in a header', { headers: { 'X-A': 'a'.repeat(999) } }, ['too-long /headers/X-A']],
	['999 characters in a line of a header', { headers: { 'X-A': 'a'.repeat(994) } }, ['too-long /headers/X-A']],
	['an encoded word in a header', { headers: { 'X-A': '=?utf-8?q?a?=' } }, ['bad-format /headers/X-A']],
	['References without brackets', { headers: { References: 'a@example.com' } }, ['bad-format /headers/References']],
	['two ids without a space', { headers: { 'In-Reply-To': '<a@example.com><b@example.com>' } }, ['bad-format /headers/In-Reply-To']],
	['an id beyond ASCII', { headers: { 'in-reply-to': '<ü@example.com>' } }, ['bad-format /headers/in-reply-to']],
	['a number in a header', { headers: { 'X-A': 1 } }, ['wrong-type /headers/X-A']],
	['bad base64', file({ content: 'aGk' }), ['bad-base64 /attachments/0/content']],
	['base64 with a line break', file({ content: 'aGk=\n' }), ['bad-base64 /attachments/0/content']],
	['base64 of URLs', file({ content: '_-8=' }), ['bad-base64 /attachments/0/content']],
	['a file name with NUL', file({ filename: 'a\0.txt' }), ['control-character /attachments/0/filename']],
	['a file name of nothing but folders', file({ filename: '../..' }), ['bad-format /attachments/0/filename']],
	['a content type that breaks out', file({ contentType: 'text/plain\r\nX: y' }), ['control-character /attachments/0/contentType']],
	[
		'ten million characters of content type',
		file({ contentType: `text/plain${';a=b'.repeat(2_500_000)}` }),
		['too-long /attachments/0/contentType'],
	],
	['an encoded word in a file name', file({ filename: '=?utf-8?B?YQ==?=' }), ['bad-format /attachments/0/filename']],
	['a content type that is none', file({ contentType: 'pdf' }), ['bad-format /attachments/0/contentType']],
	['a multipart attachment', file({ contentType: 'multipart/mixed' }), ['bad-format /attachments/0/contentType']],
	['a contentId with brackets', file({ contentId: '<a>' }), ['bad-format /attachments/0/contentId']],
	['21 attachments', { attachments: Array.from({ length: 21 }, () => ({ filename: 'a', content: '' })) }, ['too-many /attachments']],
];

const named = (body: { errors: { pointer: string; code: string }[] }): string[] =>
	body.errors.map((one) => `${one.code} ${one.pointer}`).sort();

test.each(WRONG)('%s is refused by name and nothing is written', async (_, change, faults) => {
	const before = await countRows(api.db);
	const { status, headers, body } = await api.call('/v1/mails', { body: { ...MAIL, ...change } });
	expect([status, body.code]).toEqual([422, 'invalid-request']);
	expect(named(body)).toEqual([...faults].sort());
	expect(headers.get('content-type')).toBe('application/problem+json');
	expect(await countRows(api.db)).toEqual(before);
});

test('every fault of every item of a batch is named at once, whichever check finds it, and nothing is written', async () => {
	const before = await countRows(api.db);
	const items = [MAIL, { ...MAIL, to: ['x'], subject: 'a\nb', colour: 1 }, MAIL, { to: [5], text: '' }];
	const { status, body } = await api.call('/v1/mails:batch', { body: { items } });
	expect(status).toBe(422);
	expect(named(body)).toEqual([
		'bad-address /items/1/to/0',
		'control-character /items/1/subject',
		'no-content /items/3/subject',
		'no-content /items/3/text',
		'unknown-field /items/1/colour',
		'wrong-type /items/3/to/0',
	]);
	expect(await countRows(api.db)).toEqual(before);
});

test.each([
	['none', []],
	['501', Array.from({ length: 501 }, () => MAIL)],
])('a batch of %s is refused', async (_, items) => {
	expect(named((await api.call('/v1/mails:batch', { body: { items } })).body)).toEqual([
		items.length === 0 ? 'too-few /items' : 'too-many /items',
	]);
});

test('__proto__ is no field, no mark and no header, and changes no prototype', async () => {
	const raw = `{"to":["ann@example.com"],"subject":"a","text":"b","__proto__":{"x":1},"metadata":{"__proto__":"y"},"headers":{"__proto__":"z"}}`;
	const { status, body } = await api.call('/v1/mails', { raw });
	expect(status).toBe(422);
	expect(named(body)).toEqual(['header-not-allowed /headers/__proto__', 'unknown-field /__proto__', 'unknown-field /metadata/__proto__']);
	expect(({} as { x?: number }).x).toBeUndefined();
});

test('attachments above the limit together are 413 with the limit', async () => {
	const content = Buffer.alloc(13_000_000).toString('base64');
	const attachments = ['a', 'b'].map((filename) => ({ filename, content }));
	const { status, body } = await api.call('/v1/mails', { body: { ...MAIL, attachments } });
	expect([status, body.code, body.detail]).toEqual([413, 'body-too-large', expect.stringContaining('25000000')]);
});

test('a mail with everything is stored as it was given', async () => {
	const mail = {
		to: ['ann@EXAMPLE.com', { address: 'bo@example.com', name: 'Bo 王 "B" 😀' }],
		cc: ['cy@münchen.example'],
		bcc: ['di@example.com'],
		replyTo: { address: 'help@example.com', name: 'Help' },
		from: { address: 'Shop@Example.com', name: 'Shop' },
		subject: '訂單 A-17 😀',
		text: 'Zeile 1\r\nZeile 2\t.',
		html: '<p>Hi</p>',
		attachments: [
			{ filename: '../收據.pdf', contentType: 'application/pdf', content: 'AAEC', contentId: 'logo1' },
			{ filename: 'a', content: '' },
		],
		headers: { References: '<1@example.com> <a.b@c>', 'X-Campaign': 'a'.repeat(986), 'list-unsubscribe': '<https://example.com/u/1>' },
		type: 'order.confirmed',
		priority: 'urgent',
		dedupeKey: 'A-17',
		notBefore: '2998-01-01T08:00:00+08:00',
		validUntil: FUTURE,
		metadata: { orderNo: 'A-17' },
	};
	const traceId = 'cd'.repeat(16);
	const sent = await api.call('/v1/mails', { body: mail, headers: { traceparent: `00-${traceId}-${'2'.repeat(16)}-01` } });
	expect(sent).toMatchObject({ status: 202, body: { status: 'PENDING', id: expect.any(String), createdAt: expect.stringMatching(/Z$/) } });
	expect(Object.keys(sent.body).sort()).toEqual(['createdAt', 'id', 'status']);
	expect(sent.headers.get('location')).toBe(`/v1/messages/${sent.body.id}`);
	const { body: message } = await api.call(sent.headers.get('location') ?? '');
	expect(message).toMatchObject({
		id: sent.body.id,
		channel: 'MAIL',
		type: 'order.confirmed',
		status: 'PENDING',
		scope: 'TENANT',
		priority: 'urgent',
		subject: mail.subject,
		budgetMax: 5,
		notBefore: '2998-01-01T00:00:00.000Z',
		dueAt: '2998-01-01T00:00:00.000Z',
		validUntil: '2999-01-01T00:00:00.000Z',
		createdAt: sent.body.createdAt,
		dedupeKey: expect.stringMatching(/^A-17:MAIL:[0-9a-f]{64}$/),
		metadata: { orderNo: 'A-17' },
		traceId,
	});
	expect(message.recipients.map((one: { role: string; address: string }) => `${one.role} ${one.address}`)).toEqual([
		'to ann@example.com',
		'to bo@example.com',
		'cc cy@xn--mnchen-3ya.example',
		'bcc di@example.com',
	]);
	expect((await api.call(`/v1/messages/${sent.body.id}/content`)).body).toEqual({
		subject: mail.subject,
		text: mail.text,
		html: mail.html,
		headers: mail.headers,
		from: { address: 'Shop@example.com', name: 'Shop' },
		replyTo: mail.replyTo,
		recipients: [
			{ role: 'to', address: 'ann@example.com', name: null },
			{ role: 'to', address: 'bo@example.com', name: 'Bo 王 "B" 😀' },
			{ role: 'cc', address: 'cy@xn--mnchen-3ya.example', name: null },
			{ role: 'bcc', address: 'di@example.com', name: null },
		],
		attachments: [
			{ filename: '收據.pdf', contentType: 'application/pdf', contentId: 'logo1', bytes: 3 },
			{ filename: 'a', contentType: 'application/octet-stream', contentId: null, bytes: 0 },
		],
	});
	const { rows } = await api.db.pool.query(
		'select e.trace_id, e.lane, e.status, f.lane as flow, f.next_at from outbox_entry e join flow f on f.id = e.flow_id where e.id = $1',
		[sent.body.id],
	);
	expect(rows).toMatchObject([{ trace_id: traceId, lane: 'urgent', status: 'NEW', flow: 'urgent' }]);
});

test('validateOnly runs every check, shows the mail and writes nothing', async () => {
	const before = await countRows(api.db);
	const { status, body } = await api.call('/v1/mails?validateOnly=true', {
		body: { ...MAIL, cc: ['bo@example.com'] },
		headers: { 'idempotency-key': 'trial' },
	});
	expect([status, body]).toEqual([
		200,
		{
			valid: true,
			preview: {
				subject: 'Hello',
				text: 'Hi Ann',
				html: null,
				recipients: [
					{ role: 'to', address: 'ann@example.com', name: null },
					{ role: 'cc', address: 'bo@example.com', name: null },
				],
				serverId: expect.any(String),
				cost: 2,
			},
		},
	]);
	expect((await api.call('/v1/mails:batch?validateOnly=true', { body: { items: [MAIL, MAIL] } })).body.previews).toHaveLength(2);
	expect((await api.call('/v1/mails?validateOnly=true', { body: { ...MAIL, from: 'me@other.example' } })).status).toBe(422);
	expect((await api.call('/v1/mails?validateOnly=yes', { body: MAIL })).status).toBe(400);
	expect(await countRows(api.db)).toEqual(before);
});

test('scope PLATFORM is explained to those who may not, and uses the platform’s servers for those who may', async () => {
	const refused = await api.call('/v1/mails', { body: { ...MAIL, scope: 'PLATFORM' } });
	expect(refused).toMatchObject({
		status: 403,
		body: { code: 'capability-missing', errors: [{ pointer: '/scope', code: 'platform-only' }] },
	});
	const asTenant = { key: api.platformKey, headers: { 'tidings-tenant': api.tenantId } };
	expect(named((await api.call('/v1/mails', { ...asTenant, body: { ...MAIL, scope: 'PLATFORM' } })).body)).toEqual(['no-mail-server ']);
	const server = { name: 'platform', host: '127.0.0.1', port: 25, security: 'none', from: { address: 'noreply@platform.example' } };
	const { body: made } = await api.call('/v1/mail-servers', { key: api.platformKey, body: server });
	const { body: sent } = await api.call('/v1/mails', { ...asTenant, body: { ...MAIL, scope: 'PLATFORM' } });
	expect((await api.call(`/v1/messages/${sent.id}`)).body).toMatchObject({ scope: 'PLATFORM', serverId: made.id });
	const { body: own } = await api.call('/v1/mails', { key: api.platformKey, body: MAIL });
	expect((await api.call(`/v1/messages/${own.id}`, { key: api.platformKey })).body).toMatchObject({ scope: 'PLATFORM', serverId: made.id });
	expect((await api.call(`/v1/messages/${own.id}`)).status).toBe(404);
});
