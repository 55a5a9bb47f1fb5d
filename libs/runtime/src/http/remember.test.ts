import { expect, test } from '@jest/globals';
import { createMemory } from './remember.js';

test('callers that ask at the same time share one look-up, what was found is remembered, and what was not is asked for again', async () => {
	const asked: string[] = [];
	const memory = createMemory(async (id) => {
		asked.push(id);
		return id === 'there' ? { id } : null;
	});
	const both = await Promise.all([memory.get('there'), memory.get('there')]);
	expect(both).toEqual([{ id: 'there' }, { id: 'there' }]);
	expect(memory.get('there')).toEqual({ id: 'there' });
	expect([await memory.get('not'), await memory.get('not')]).toEqual([null, null]);
	expect(asked).toEqual(['there', 'not', 'not']);
});

test('a look-up that was under way when its thing was forgotten is not remembered', async () => {
	let stored = 'old';
	const answers: (() => void)[] = [];
	const memory = createMemory(async () => {
		const seen = stored;
		await new Promise<void>((resolve) => answers.push(resolve));
		return seen;
	});
	const early = memory.get('key');
	stored = 'new';
	memory.forget('key');
	const late = memory.get('key');
	for (const answer of answers) answer();
	expect([await early, await late]).toEqual(['old', 'new']);
	expect(memory.get('key')).toBe('new');
	memory.forget('key');
	expect(memory.get('key')).toBeInstanceOf(Promise);
	answers.at(-1)?.();
});

test('a look-up that fails fails for who asked, and the next one asks again', async () => {
	let away = true;
	const memory = createMemory(async () => {
		if (away) throw new Error('away');
		return 'there';
	});
	await expect(memory.get('key')).rejects.toThrow('away');
	away = false;
	expect(await memory.get('key')).toBe('there');
});
