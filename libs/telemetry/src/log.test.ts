import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createLogger, type LogLevel } from './log.js';

function capture(level: LogLevel = 'info') {
	const lines: string[] = [];
	const log = createLogger({ service: 'demo', level, destination: { write: (line) => lines.push(line) } });
	const read = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
	return { log, lines, read };
}

test('a line is JSON with ISO time, level as text and the service', () => {
	const { log, lines, read } = capture();
	log.info({ recordId: 'r1' }, 'sent');
	log.debug('not at this level');
	expect(lines).toHaveLength(1);
	expect(lines[0]?.endsWith('\n')).toBe(true);
	expect(read()[0]).toMatchObject({ level: 'info', service: 'demo', recordId: 'r1', msg: 'sent', pid: process.pid });
	expect(read()[0]?.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
});

test('secrets and contents are masked at any depth, in child bindings too', () => {
	const { log, lines, read } = capture();
	log.child({ password: 'MARK1' }).info(
		{
			headers: { Authorization: 'Bearer MARK2', 'set-cookie': ['MARK3', 'a]MARK4'] },
			a: { b: { c: { clientSecret: 'MARK"5\\', api_key: 123456, TIDINGS_SECRET_KEYS: 'k:MARK6' } } },
			html: '<p>MARK7</p>',
			subject: 'MARK8',
			token: null,
			keyId: 'k1',
		},
		'configured',
	);
	expect(lines.join('')).not.toMatch(/MARK|123456/);
	expect(read()[0]).toMatchObject({ password: '[redacted]', keyId: 'k1', html: '[redacted]', msg: 'configured' });
});

test('mail addresses and URL passwords are masked wherever they stand', () => {
	const { log, lines, read } = capture();
	log.warn({ url: '/v1/messages?recipient=zoe%40example.com&limit=5', text: '550 5.1.1 <zoe@example.com>: unknown' }, 'refused 王@例子.tw');
	log.error(new Error('cannot connect to postgres://app:hunter2@db.internal:5432/x'));
	expect(lines.join('')).not.toMatch(/zoe|hunter2|王/);
	expect(read()[0]).toMatchObject({
		url: '/v1/messages?recipient=[address]&limit=5',
		text: '550 5.1.1 <[address]>: unknown',
		msg: 'refused [address]',
	});
	expect(read()[1]?.msg).toBe('cannot connect to postgres://[redacted]@db.internal:5432/x');
});

test('a password that was put into a URL as it stands, unescaped, is masked', () => {
	const { log, lines, read } = capture();
	for (const password of ['MARK/x', 'x/MARK', 'x#MARK', 'a?MARK/b'])
		log.warn({ url: `redis://app:${password}@db.internal:6379/0` }, 'no URL');
	expect(lines.join('')).not.toContain('MARK');
	expect(read()[0]?.url).toBe('redis://[redacted]@db.internal:6379/0');
});

test('an error is logged with code, stack and causes, and nothing else that hangs on it', () => {
	const { log, lines, read } = capture();
	const cause = Object.assign(new Error('duplicate key'), { code: '23505', detail: 'Failing row contains (MARK)' });
	log.error({ err: Object.assign(new TypeError('accept failed', { cause }), { parameters: ['MARK'] }) }, 'failed');
	expect(lines.join('')).not.toContain('MARK');
	expect(read()[0]?.err).toMatchObject({ type: 'TypeError', message: 'accept failed', cause: { code: '23505', message: 'duplicate key' } });
	expect(read()[0]).toMatchObject({ err: { stack: expect.stringContaining('log.test') } });
});

test('an error that is its own cause ends', () => {
	const { log, lines } = capture();
	const error = new Error('loop');
	error.cause = error;
	log.error({ err: error }, 'failed');
	expect(lines).toHaveLength(1);
});

test('a line with control characters, quotes and nested text that looks like JSON stays valid', () => {
	const { log, read } = capture();
	log.info({ text: '{"password":"x"} \u0000 "\\', list: [{ token: ['a', 'b'] }, 1] }, 'odd "token":"y"');
	expect(read()[0]).toMatchObject({ text: '{"password":"x"} \u0000 "\\', list: [{ token: '[redacted]' }, 1] });
});

test('whatever stands around it, an address or a secret is masked and the line stays valid JSON', () => {
	const around = fc.oneof(
		fc.constantFrom('', ' ', '\\', '\\\\', '\n', '\\\n', '"', '\\"', '\u0001', '//', '%2B', '<', '[', 'a', '王'),
		fc.string({ unit: 'binary' }),
	);
	fc.assert(
		fc.property(around, around, (before, after) => {
			const { log, read } = capture();
			log.info(
				{
					text: `${before} zoemark@example.com${after}`,
					other: `${before}\nzoemark%40example.com`,
					nested: { password: `${before}secretmark${after}` },
				},
				before,
			);
			expect(JSON.stringify(read())).not.toMatch(/zoemark|secretmark/);
		}),
		{ numRuns: 300 },
	);
});

test('a long text without any separator is masked in no time', () => {
	const { log, lines } = capture();
	log.info({ text: 'A'.repeat(300_000), other: ' @ ' }, 'long');
	expect(lines[0]?.length).toBeGreaterThan(300_000);
}, 1_000);
