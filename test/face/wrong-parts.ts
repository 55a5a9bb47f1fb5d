/** Parts of requests that are wrong, or odd. `right` stands for what would be right there. */

const LONG = 'x'.repeat(8_000);
const UUID = '01930b5e-7d5a-7c3e-9b1a-3f6f0e6b2c11';

/** Texts without spaces, separated by them. */
const words = (text: string): string[] => text.split(' ');

/** What stands where an id should. */
export const IDS: readonly string[] = [
	...words(
		'x 0 .. . %2e%2e %2F a%2Fb %2e%2e%2f%2e%2e %00 right%00 right%20 right. right: right:retry right/ right/x / % %ZZ %E0%A4 %C0%80 %F0%9F%92%A9',
	),
	...words(
		"{id} %7Bid%7D * :retry a:b ' %27%20or%201=1 -1 null undefined NaN 00000000-0000-0000-0000-000000000000 ffffffff-ffff-ffff-ffff-ffffffffffff",
	),
	...['', UUID, UUID.replaceAll('-', ''), `urn:uuid:${UUID}`, `%7B${UUID}%7D`, LONG, '%41'.repeat(3_000)],
];

/** Values of query fields. */
export const VALUES: readonly string[] = [
	...words(
		'%00 %ZZ % %E0%A4 %C0%80 %ED%A0%80 %0D%0A %E2%80%A8 + %2B -1 0 1 2 200 201 01 1e2 1.5 NaN null true false all TRUE MAIL PENDING x {} [] %27%3B-- %25 _',
	),
	...words(
		'a%40example.com 2026-11-30T09:00:00Z 2026-11-30T09:00:00.000%2B08:00 2026-11-30 9999-12-31T23:59:59.999Z 0000-01-01T00:00:00Z %2B275760-09-13T00:00:00Z',
	),
	...words('MTAxOTMwYjVlLTdkNWEtN2MzZS05YjFhLTNmNmYwZTZiMmMxMQ channel,status day,hour channel,channel mail.'),
	...['', 'x'.repeat(400), LONG, UUID, `1${UUID.replaceAll('-', '')}`],
];

/** Names of query fields that no operation has. */
export const NAMES: readonly string[] = [
	...words('tenantId x __proto__ constructor toString %00 limit[] a[b][c] metadata. metadata.%00 metadata.__proto__'),
	...['', 'x'.repeat(500)],
];

const JWT = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.';

/** Values of headers by their names. */
export const HEADERS = {
	authorization: [
		...['', 'Bearer', 'Bearer ', 'bearer right', 'BEARER right', 'Bearer  right', 'Bearer right x', 'right', 'Basic Og==', 'Bearer tdg_'],
		...[`Bearer ${JWT}`, `Bearer ${LONG}`, 'Bearer é', 'Bearer a.b.c', 'Digest x="y"'],
	],
	'if-match': [
		...['*', '"1"', '"999999999999999999999"', '"-1"', 'W/"1"', '"1", "2"', '1', '"', '""', '', ' ', 'é', '"é"', '"a" "b"', '*, "1"', LONG],
	],
	'idempotency-key': ['a-key', 'another', '', ' ', 'with space', 'é', 'x'.repeat(255), 'x'.repeat(256), '\tx', '"quoted"', LONG],
	traceparent: [
		...['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', '00-0-0-0', '', 'é', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`],
		...['ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', LONG],
	],
	'content-type': [
		...['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/json;charset=latin1', 'application/json; charset="utf-16"'],
		...words('text/plain text/html application/xml multipart/form-data application/x-www-form-urlencoded application/merge-patch+json'),
		...words('application/problem+json application/jsonx json ; , é'),
	],
	'tidings-tenant': ['right', '', 'x', "';--", '00000000-0000-0000-0000-000000000000', UUID, 'é', LONG],
} as const;

/** Headers that change nothing, or that nobody should send. */
export const OTHER_HEADERS: Readonly<Record<string, readonly string[]>> = {
	accept: ['text/html', 'application/xml;q=0.1', '*/*;q=0', 'é'],
	'content-encoding': ['gzip', 'identity', 'br, gzip', 'x', ''],
	host: ['', 'é'],
	'x-tenant-id': [UUID],
	'x-http-method-override': ['DELETE'],
	range: ['bytes=0-1'],
	'if-none-match': ['*'],
	'if-modified-since': ['x'],
	cookie: ['a=b; é'],
	tracestate: [LONG],
	'x-forwarded-for': ["'; --"],
	origin: ['null'],
	'accept-encoding': ['zstd'],
	'x-request-id': [LONG],
	te: ['trailers'],
};

/** Methods that a parser of HTTP knows. */
export const METHODS: readonly string[] = words('GET HEAD POST PUT PATCH DELETE OPTIONS TRACE PROPFIND QUERY LINK M-SEARCH');
