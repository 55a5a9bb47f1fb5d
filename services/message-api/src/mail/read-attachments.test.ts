import { expect, test } from '@jest/globals';
import { cleanFileName } from './read-attachments.js';

test.each([
	['收據.pdf', '收據.pdf'],
	['../../etc/passwd', 'passwd'],
	['C:\\Windows\\cmd.exe', 'cmd.exe'],
	['C:notes.txt', 'notes.txt'],
	['a/b\\c.txt', 'c.txt'],
	['photo\u202egnp.exe', 'photognp.exe'],
	[' name .txt ', 'name .txt'],
	['.htaccess', '.htaccess'],
	['..', ''],
	['../', ''],
	['\u202e', ''],
	['👩‍👩‍👧.png', '👩‍👩‍👧.png'],
])('%j is stored as %j', (given, clean) => {
	expect(cleanFileName(given)).toBe(clean);
});

test('a name is cut to 255 bytes between characters, and its extension stays', () => {
	const cut = cleanFileName(`${'檔'.repeat(300)}.pdf`);
	expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(255);
	expect(cut).toMatch(/^檔{83}\.pdf$/);
	expect(cleanFileName('a'.repeat(300))).toBe('a'.repeat(255));
});
