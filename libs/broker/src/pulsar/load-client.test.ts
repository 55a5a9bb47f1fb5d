import { expect, test } from '@jest/globals';
import { loadClient } from './load-client.js';

function failing(code: string): (name: string) => unknown {
	return (name) => {
		throw Object.assign(new Error(`cannot load ${name}`), { code });
	};
}

test('a package that is not there is told with what to install or to use instead', () => {
	expect(() => loadClient(failing('MODULE_NOT_FOUND'))).toThrow(/is not installed.*1\.18\.0.*npm install pulsar-client.*ws:\/\//);
});

test('a binary that does not fit is told apart from a missing one and keeps its cause', () => {
	const load = (): unknown => loadClient(failing('ERR_DLOPEN_FAILED'));
	expect(load).toThrow(/does not load on this machine/);
	expect(load).toThrow(expect.objectContaining({ cause: expect.objectContaining({ code: 'ERR_DLOPEN_FAILED' }) }));
});

test('the package is loaded by its name', () => {
	const module = {};
	expect(loadClient((name) => (name === 'pulsar-client' ? module : undefined))).toBe(module);
});
