/** Tests run as ES modules straight from the TypeScript sources; swc strips the types and `npm run check` proves them. */
export default {
	roots: ['<rootDir>/libs', '<rootDir>/services', '<rootDir>/test'],
	testMatch: [
		'<rootDir>/{libs,services}/*/src/**/*.test.ts',
		'<rootDir>/test/{check,contract,face,faults,flow,harness,migrations,regression}/**/*.test.ts',
	],
	modulePathIgnorePatterns: ['/dist/'],
	extensionsToTreatAsEsm: ['.ts'],
	moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
	testEnvironmentOptions: { customExportConditions: ['tidings-source', 'node', 'node-addons'] },
	transform: {
		'^.+\\.ts$': [
			'@swc/jest',
			{ jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' }, sourceMaps: 'inline' },
		],
	},
	globalSetup: '<rootDir>/test/harness/global-setup.mjs',
	globalTeardown: '<rootDir>/test/harness/global-teardown.mjs',
	maxWorkers: 2,
	testTimeout: 30_000,
};
