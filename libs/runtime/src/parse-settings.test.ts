import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { Type } from 'typebox';
import { parseSettings } from './parse-settings.js';
import { retryPolicies } from './retry-policies.js';
import { REDIS_RULES, RETRY_SETTINGS, SETTINGS } from './settings.js';

const folder = mkdtempSync(join(tmpdir(), 'settings-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, text: string): string => {
	writeFileSync(join(folder, name), text);
	return join(folder, name);
};

const schema = Type.Object(SETTINGS);
const key = `k1:${Buffer.alloc(32).toString('base64')}`;
const least = { DATABASE_URL: 'postgres://u:p@h/d', BROKER_URL: 'embedded:', TIDINGS_SECRET_KEYS: key };
const rule = {
	of: ['TIDINGS_SEND_DEADLINE_SECONDS', 'TIDINGS_LEASE_SECONDS'] as const,
	fault: (settings: { TIDINGS_SEND_DEADLINE_SECONDS: number; TIDINGS_LEASE_SECONDS: number }) =>
		settings.TIDINGS_SEND_DEADLINE_SECONDS >= settings.TIDINGS_LEASE_SECONDS ? 'must be below the lease' : null,
};

test('only three settings are required, all others have their default', () => {
	expect(parseSettings(schema, least)).toMatchObject({
		kind: 'settings',
		settings: {
			...least,
			BROKER_NAMESPACE: 'public/default',
			TIDINGS_HTTP_PORT: 7070,
			TIDINGS_LEASE_SECONDS: 120,
			TIDINGS_SEND_DEADLINE_SECONDS: 90,
			TIDINGS_HEAL_SECONDS: 600,
			TIDINGS_ALLOW_PRIVATE_HOSTS: false,
			TIDINGS_RETRY_TYPES: {},
			LOG_LEVEL: 'info',
		},
	});
});

test('texts become numbers, booleans and objects, and other variables are ignored', () => {
	const env = {
		...least,
		TIDINGS_RETRY_JITTER: '0.25',
		TIDINGS_ALLOW_PRIVATE_HOSTS: 'true',
		TIDINGS_RETRY_TYPES: '{"a.b":{"maxAttempts":2}}',
		PATH: '/bin',
	};
	const parsed = parseSettings(schema, env);
	expect(parsed).toMatchObject({
		settings: { TIDINGS_RETRY_JITTER: 0.25, TIDINGS_ALLOW_PRIVATE_HOSTS: true, TIDINGS_RETRY_TYPES: { 'a.b': { maxAttempts: 2 } } },
	});
	expect(parsed.kind === 'settings' && 'PATH' in parsed.settings).toBe(false);
});

test('every fault is listed at once, with the name of its setting and without secrets', () => {
	const env = {
		DATABASE_URL: 'mysql://u:MARK@h/d',
		TIDINGS_SECRET_KEYS: 'k1:MARK',
		TIDINGS_HTTP_PORT: '70000',
		TIDINGS_LEASE_SECONDS: 'soon',
		TIDINGS_ALLOW_PRIVATE_HOSTS: 'yes',
		TIDINGS_RETRY_TYPES: '{"a/b":{"maxAttempts":0,"attempts":3,"delay":1}}',
		LOG_LEVEL: 'loud',
	};
	const parsed = parseSettings(schema, env, [rule]);
	if (parsed.kind !== 'faults') throw new Error('no fault was found');
	expect([...parsed.faults].sort()).toEqual([
		'BROKER_URL: is required: pulsar://host:6650, pulsar+ssl://…, ws://host:8080 or wss://…',
		'DATABASE_URL: must be postgres://user:password@host:5432/database',
		'LOG_LEVEL: must be fatal, error, warn, info, debug, trace, silent, not "loud"',
		'TIDINGS_ALLOW_PRIVATE_HOSTS: must be true or false, not "yes"',
		'TIDINGS_HTTP_PORT: must be a whole number, at least 0, at most 65535, not "70000"',
		'TIDINGS_LEASE_SECONDS: must be a whole number, at least 1, at most 86400, not "soon"',
		'TIDINGS_RETRY_TYPES: at a/b → maxAttempts: must be >= 1',
		'TIDINGS_RETRY_TYPES: at a/b: there is no field "attempts"',
		'TIDINGS_RETRY_TYPES: at a/b: there is no field "delay"',
		'TIDINGS_SECRET_KEYS: must be keyId:base64 of 32 bytes, several separated by commas',
	]);
});

test('with nothing set each required setting is named', () => {
	const parsed = parseSettings(schema, {});
	if (parsed.kind !== 'faults') throw new Error('no fault was found');
	expect(parsed.faults.map((fault) => fault.split(': is required')[0])).toEqual(['DATABASE_URL', 'BROKER_URL', 'TIDINGS_SECRET_KEYS']);
});

test('a rule over several settings is checked beside faults elsewhere, but not over a faulty setting', () => {
	const env = { ...least, TIDINGS_SEND_DEADLINE_SECONDS: '120', LOG_LEVEL: 'loud' };
	expect(parseSettings(schema, env, [rule])).toMatchObject({
		faults: [expect.stringContaining('LOG_LEVEL'), 'TIDINGS_SEND_DEADLINE_SECONDS: must be below the lease'],
	});
	expect(parseSettings(schema, { ...env, LOG_LEVEL: '', TIDINGS_LEASE_SECONDS: '-1' }, [rule])).toMatchObject({
		faults: [expect.stringContaining('TIDINGS_LEASE_SECONDS')],
	});
});

test('NAME_FILE holds the value of NAME', () => {
	const { DATABASE_URL, ...rest } = least;
	const env = { ...rest, DATABASE_URL_FILE: file('url', `${DATABASE_URL}\n`), TIDINGS_LEASE_SECONDS_FILE: file('lease', '240\n') };
	expect(parseSettings(schema, env)).toMatchObject({ settings: { DATABASE_URL, TIDINGS_LEASE_SECONDS: 240 } });
});

test('a setting given twice, a file that is not there and an empty file are faults that name the setting', () => {
	const env = {
		...least,
		DATABASE_URL_FILE: file('twice', 'postgres://x'),
		BROKER_URL: '',
		BROKER_URL_FILE: join(folder, 'absent'),
		TIDINGS_SECRET_KEYS: ' ',
		TIDINGS_SECRET_KEYS_FILE: file('empty', '\n'),
	};
	expect(parseSettings(schema, env)).toEqual({
		kind: 'faults',
		faults: [
			expect.stringMatching(/^DATABASE_URL: is set twice/),
			expect.stringMatching(/^BROKER_URL_FILE: cannot be read: ENOENT/),
			expect.stringMatching(/^TIDINGS_SECRET_KEYS: is required/),
		],
	});
});

test('reading leaves the schema and the environment as they are', () => {
	const before = JSON.stringify(schema);
	const env = { ...least, TIDINGS_RETRY_TYPES: '{}' };
	parseSettings(schema, env);
	expect(JSON.stringify(schema)).toBe(before);
	expect(env).toEqual({ ...least, TIDINGS_RETRY_TYPES: '{}' });
});

test('a type overrides the retry policy field by field', () => {
	const parsed = parseSettings(Type.Object(RETRY_SETTINGS), {
		TIDINGS_RETRY_MAX_ATTEMPTS: '7',
		TIDINGS_RETRY_TYPES: '{"a":{"maxAttempts":2,"jitter":0},"__proto__":{"maxAttempts":9}}',
	});
	if (parsed.kind !== 'settings') throw new Error(parsed.faults.join());
	const policyOf = retryPolicies(parsed.settings);
	expect(policyOf(null)).toEqual({ maxAttempts: 7, baseSeconds: 30, maxSeconds: 3600, multiplier: 2, jitter: 0.5, quotaFloorSeconds: 300 });
	expect(policyOf('a')).toEqual({ maxAttempts: 2, baseSeconds: 30, maxSeconds: 3600, multiplier: 2, jitter: 0, quotaFloorSeconds: 300 });
	expect(policyOf('toString')).toBe(policyOf(null));
});

test.each(['MARK/x', 'x/MARK', 'x#MARK', 'MARK%zz'])(
	'a Redis whose password is %s, unescaped, is refused without saying it',
	(password) => {
		const redis = Type.Object({ REDIS_URL: SETTINGS.REDIS_URL });
		const parsed = parseSettings(redis, { REDIS_URL: `redis://tidings:${password}@127.0.0.1:1` }, REDIS_RULES);
		expect(parsed).toEqual({ kind: 'faults', faults: [expect.stringMatching(/^REDIS_URL: is no URL: (?!.*MARK)/)] });
		const right = parseSettings(redis, { REDIS_URL: `redis://tidings:${encodeURIComponent(password)}@127.0.0.1:1` }, REDIS_RULES);
		expect(right.kind).toBe('settings');
	},
);
