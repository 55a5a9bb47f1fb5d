import { expect } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { CALM_SETTINGS } from '../harness/process-mesh.js';
import { arrivedMore, becomes, look, mailsOf, meshOfFile, PATIENCE, underLoad } from './kit.js';

// F39: SIGTERM. For a long run TIDINGS_TEST_STOPS says how often (default 10).

const ROUNDS = Number(process.env['TIDINGS_TEST_STOPS'] ?? 10);

const faultTest = meshOfFile();

faultTest(
	`F39 SIGTERM under load, ${ROUNDS} times: the service gives back or finishes what it has, exits 0, and nothing is ambiguous`,
	async (mesh) => {
		await mesh.startReady('outbox-publisher', ['mail-sender', CALM_SETTINGS]);
		const services = mesh.services.filter((one) => one.running && one.service !== 'message-api');
		await underLoad(mesh, async () => {
			for (let round = 0; round < ROUNDS; round++) {
				await arrivedMore(mesh, 10);
				const service = services[round % services.length];
				expect(await service?.term()).toEqual({ code: 0, signal: null });
				service?.restart();
				await service?.ready();
			}
		});
		await mesh.drained();
		const { rows } = await mesh.db.pool.query('select id, outcome from delivery_attempt where ambiguous');
		expect(rows).toEqual([]);
		expect(mesh.sink.mails).toHaveLength(mesh.submitter.answered.length);
		expect(await mesh.broken()).toEqual([]);
	},
	Math.max(300, 15 * ROUNDS) * 1000,
);

faultTest(
	'F39 SIGTERM while servers are slow: before the dot the mail is given back unambiguously and burns nothing; exits within the grace',
	async (mesh) => {
		await mesh.startReady('outbox-publisher');
		const slow = mesh.start('mail-sender', { ...CALM_SETTINGS, TIDINGS_DRAIN_SECONDS: '1' });
		await slow.ready();
		const rule = mesh.sink.script({ stage: 'RCPT', answer: { kind: 'hang' } });
		const id = await mesh.submitter.submit();
		await rule.met();
		expect((await slow.term()).signal).toBeNull();
		rule.release();
		expect(await look(mesh, id)).toMatchObject({ status: 'RETRY', ambiguous: false, budgetUsed: 0 });
		slow.restart();
		await mesh.drained();
		expect(mailsOf(mesh, id)).toBe(1);
		expect(await mesh.broken()).toEqual([]);
	},
);

faultTest('F39 SIGTERM after the dot, past the grace: the attempt is ambiguous, and that is written down', async (mesh) => {
	await mesh.startReady('outbox-publisher');
	const slow = mesh.start('mail-sender', { TIDINGS_DRAIN_SECONDS: '1' });
	await slow.ready();
	const rule = mesh.sink.script({ stage: 'DOT', answer: { kind: 'hang' } });
	const id = await mesh.submitter.submit();
	await rule.met();
	expect((await slow.term()).signal).toBeNull();
	rule.release();
	slow.restart();
	expect(await becomes(mesh, id, 'SENT')).toMatchObject({ ambiguous: true, attempts: ['AMBIGUOUS', 'ACCEPTED'] });
	await mesh.drained();
	expect(await mesh.broken()).toEqual([]);
});

faultTest('F39 a second SIGTERM ends the process at once; what it held is taken up after its lease', async (mesh) => {
	await mesh.startReady('outbox-publisher');
	const sender = mesh.start('mail-sender', { TIDINGS_DRAIN_SECONDS: '600' });
	await sender.ready();
	const rule = mesh.sink.script({ stage: 'RCPT', answer: { kind: 'hang' } });
	const id = await mesh.submitter.submit();
	await rule.met();
	sender.signal('SIGTERM');
	await eventually(() => sender.said('stopping').length > 0, { ...PATIENCE, what: 'the stop to begin' });
	expect(await sender.term()).toEqual({ code: 143, signal: null });
	rule.release();
	sender.restart();
	await becomes(mesh, id, 'SENT');
	await mesh.drained();
	expect(mailsOf(mesh, id)).toBe(1);
	expect(await mesh.broken()).toEqual([]);
});

faultTest('K35 a sender that is paused past its lease and wakes up again loses its record to another', async (mesh) => {
	const [, first] = await mesh.startReady('outbox-publisher', 'mail-sender');
	const rule = mesh.sink.script({ stage: 'RCPT', times: 1, answer: { kind: 'hang' } });
	const id = await mesh.submitter.submit();
	await rule.met();
	first?.signal('SIGSTOP');
	await mesh.startReady('mail-sender');
	await becomes(mesh, id, 'SENT');
	first?.signal('SIGCONT');
	rule.release();
	await mesh.drained();
	await first?.ready();
	// The first attempt's own word comes late and moves nothing.
	expect(await look(mesh, id)).toMatchObject({ status: 'SENT', attempts: [expect.any(String), 'ACCEPTED'] });
	expect(await mesh.broken()).toEqual([]);
});
