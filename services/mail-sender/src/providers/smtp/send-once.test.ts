import { expect, test } from '@jest/globals';
import { composeMail } from './compose.js';
import { newHandOver } from './hand-over.js';
import { type Mailer, type SendContext, sendOnce } from './send-once.js';
import { watchStages } from './stage-watch.js';
import { ann, inShort, mailTo } from './testing/kit.js';

type Done = Parameters<Mailer['sendMail']>[1];

/** A library that does as told, and the words about late answers. */
function attempt(sendMail: Mailer['sendMail'], ended = false, stop?: AbortSignal) {
	const composed = composeMail(mailTo([ann]));
	if ('category' in composed) throw new Error(composed.text);
	const late: string[] = [];
	const context: SendContext = {
		mailer: { sendMail },
		watch: watchStages('none'),
		deadlineMs: 30,
		cut: () => undefined,
		late: (what) => void late.push(what),
	};
	return { outcome: sendOnce({ ...newHandOver(composed, null), ended }, context, stop), late };
}

const yes = { response: '250 2.0.0 ok' } as NonNullable<Parameters<Done>[1]>;

test('K5 a library that never calls back is ended by the deadline', async () => {
	expect(inShort(await attempt(() => undefined).outcome)).toEqual(['0 TRANSIENT CONN - -']);
	expect(await attempt(() => undefined, true).outcome).toMatchObject({ kind: 'ambiguous', stage: 'DOT', category: 'UNKNOWN' });
});

test('K6 a library that calls back twice gives one outcome, and the second is told and dropped', async () => {
	const { outcome, late } = attempt((_, done) => {
		done(null, yes);
		done(Object.assign(new Error('no'), { code: 'ECONNECTION' }));
	}, true);
	expect(inShort(await outcome)).toEqual(['0 accepted 250']);
	expect(late).toEqual(['a second no: ECONNECTION']);
});

test('K6 a library that throws before it returns gives one outcome', async () => {
	const { outcome } = attempt(() => {
		throw new TypeError('broken');
	});
	expect(inShort(await outcome)).toEqual(['0 UNKNOWN CONN - -']);
});

test('the deadline aborts the attempt, and what the library says to that changes nothing', async () => {
	let aborted = false;
	const { outcome, late } = attempt((options, done) => {
		options.signal?.addEventListener('abort', () => {
			aborted = true;
			done(Object.assign(new Error('aborted'), { code: 'EABORT' }));
		});
	});
	expect(inShort(await outcome)).toEqual(['0 TRANSIENT CONN - -']);
	expect([aborted, late]).toEqual([true, []]);
});

test('a stop breaks off what is not given away whole, and leaves what is to its answer', async () => {
	const stop = new AbortController();
	const aborted: boolean[] = [];
	const cut = attempt((options) => options.signal?.addEventListener('abort', () => aborted.push(true)), false, stop.signal);
	const answers: Done[] = [];
	const whole = attempt((_, done) => answers.push(done), true, stop.signal);
	stop.abort();
	expect(await cut.outcome).toEqual({ kind: 'given-back' });
	expect(aborted).toEqual([true]);
	answers[0]?.(null, yes);
	expect(inShort(await whole.outcome)).toEqual(['0 accepted 250']);
});
