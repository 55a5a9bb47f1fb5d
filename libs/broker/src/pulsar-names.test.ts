import { expect, test } from '@jest/globals';
import { fullTopicName, namespacePath, pulsarUrl } from './pulsar-names.js';

const read = (text: string): string => pulsarUrl(text, ['http:', 'https:'], 'the address');

test('an address keeps its port and prefix and loses the slash at its end', () => {
	expect(read('http://host:8080/')).toBe('http://host:8080');
	expect(read('https://host/behind/a/proxy/')).toBe('https://host/behind/a/proxy');
	expect(read('http://[::1]:8080')).toBe('http://[::1]:8080');
});

test.each([
	'',
	'host:8080',
	'ws://host',
	'http://',
	'http://user:marker-secret@host',
	'http://host/?token=marker-secret',
	'http://host/#marker-secret',
])('the address %p is refused without being repeated', (text) => {
	expect(() => read(text)).toThrow(/^the address must/);
	expect(() => read(text)).not.toThrow(/marker-secret/);
});

test('a namespace is exactly a tenant and a namespace', () => {
	expect(namespacePath('public/default')).toBe('public/default');
	expect(fullTopicName('public/default', 'mail')).toBe('persistent://public/default/mail');
	for (const wrong of ['', 'public', 'public/', '/default', 'a/b/c', 'a b/c', '../x', 'a/..', 'a/b?c'])
		expect(() => namespacePath(wrong)).toThrow(RangeError);
});
