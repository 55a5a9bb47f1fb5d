import { expect } from '@jest/globals';
import { eventually } from '../harness/eventually.js';
import { becomes, endPublisherLeases, look, mailsOf, meshOfFile, PATIENCE } from './kit.js';

// One record, and a service that dies at one point of its way.

const faultTest = meshOfFile();

faultTest('F3 a crash between claim and publish: the entry is published once its lease is over, and delivered once', async (mesh) => {
	mesh.failpoints.arm('taken', 'crash');
	const publisher = mesh.start('outbox-publisher');
	await publisher.ready();
	const id = await mesh.submitter.submit();
	expect(await publisher.ended()).toEqual({ code: null, signal: 'SIGKILL' });
	expect(await look(mesh, id)).toMatchObject({ status: 'PENDING', entry: 'PUBLISHING' });
	publisher.restart();
	await mesh.startReady('mail-sender');
	await endPublisherLeases(mesh);
	await mesh.drained();
	expect(mailsOf(mesh, id)).toBe(1);
	expect(await look(mesh, id)).toMatchObject({ status: 'SENT', attempts: ['ACCEPTED'], ambiguous: false });
	expect(await mesh.broken()).toEqual([]);
});

faultTest('F4 a crash between publish and mark: two messages, one delivery, and the second message claims nothing', async (mesh) => {
	mesh.failpoints.arm('published', 'crash');
	const publisher = mesh.start('outbox-publisher', { TIDINGS_HEAL_SECONDS: '600' });
	await publisher.ready();
	const id = await mesh.submitter.submit();
	await publisher.ended();
	expect(await look(mesh, id)).toMatchObject({ status: 'PENDING', entry: 'PUBLISHING' });
	publisher.restart();
	await endPublisherLeases(mesh);
	await eventually(async () => (await mesh.backlog()) === 2 && (await look(mesh, id)).entry === 'PUBLISHED', {
		...PATIENCE,
		what: 'two messages',
	});
	await mesh.startReady('mail-sender');
	await mesh.drained();
	await eventually(async () => (await mesh.backlog()) === 0, { ...PATIENCE, what: 'both messages to be acknowledged' });
	expect(mailsOf(mesh, id)).toBe(1);
	expect(await look(mesh, id)).toMatchObject({ status: 'SENT', attempts: ['ACCEPTED'], ambiguous: false });
	expect(await mesh.broken()).toEqual([]);
});

faultTest('F5 a crash between receive and claim: the message comes again, for one attempt and one delivery', async (mesh) => {
	mesh.failpoints.arm('received', 'barrier');
	const [, sender] = await mesh.startReady('outbox-publisher', 'mail-sender');
	const id = await mesh.submitter.submit();
	await eventually(() => mesh.failpoints.met('received') > 0, { ...PATIENCE, what: 'the message to be received' });
	await sender?.kill();
	expect(await look(mesh, id)).toMatchObject({ status: 'PENDING', attempts: [] });
	mesh.failpoints.disarm('received');
	sender?.restart();
	await mesh.drained();
	expect(mailsOf(mesh, id)).toBe(1);
	expect(await look(mesh, id)).toMatchObject({ status: 'SENT', attempts: ['ACCEPTED'], ambiguous: false });
	expect(await mesh.broken()).toEqual([]);
});

faultTest('F6 a crash after the claim, before connecting: revived when the lease is over, and sent once', async (mesh) => {
	mesh.failpoints.arm('claimed', 'crash');
	const [, sender] = await mesh.startReady('outbox-publisher', 'mail-sender');
	const id = await mesh.submitter.submit();
	await sender?.ended();
	expect(await look(mesh, id)).toMatchObject({ status: 'SENDING', entry: null });
	sender?.restart();
	await mesh.drained();
	expect(mailsOf(mesh, id)).toBe(1);
	// Nobody knows that it was before connecting: the lost attempt counts, and may have sent.
	expect(await look(mesh, id)).toMatchObject({ status: 'SENT', attempts: ['AMBIGUOUS', 'ACCEPTED'], budgetUsed: 1 });
	expect(await mesh.broken()).toEqual([]);
});

faultTest(
	'F6 under hold, a crash without the hand-over mark is retried unambiguously; with the mark it is held for a person',
	async (mesh) => {
		const serverId = await mesh.addServer({ ambiguous: 'hold', default: false });
		mesh.failpoints.arm('claimed', 'crash');
		const [, sender] = await mesh.startReady('outbox-publisher', 'mail-sender');
		const unmarked = await mesh.submitter.submit({ serverId });
		await sender?.ended();
		sender?.restart();
		expect(await becomes(mesh, unmarked, 'SENT')).toMatchObject({ attempts: ['UNKNOWN', 'ACCEPTED'], ambiguous: false });
		const content = mesh.sink.script({ stage: 'BODY', answer: { kind: 'hang' } });
		const marked = await mesh.submitter.submit({ serverId });
		await content.met();
		await sender?.kill();
		content.release();
		sender?.restart();
		expect(await becomes(mesh, marked, 'HELD')).toMatchObject({ attempts: ['AMBIGUOUS'], ambiguous: true, letters: ['AMBIGUOUS'] });
		await mesh.drained();
		expect(mailsOf(mesh, unmarked)).toBe(1);
		expect(await mesh.broken()).toEqual([]);
	},
);

faultTest(
	'F7 a crash after the 250 leaves an ambiguous attempt: resend sends the same Message-ID again, hold waits for a person',
	async (mesh) => {
		const serverId = await mesh.addServer({ ambiguous: 'hold', default: false });
		const [, sender] = await mesh.startReady('outbox-publisher', 'mail-sender');
		mesh.failpoints.arm('sent', 'crash');
		const resent = await mesh.submitter.submit();
		await sender?.ended();
		sender?.restart();
		expect(await becomes(mesh, resent, 'SENT')).toMatchObject({ attempts: ['AMBIGUOUS', 'ACCEPTED'], ambiguous: true });
		mesh.failpoints.arm('sent', 'crash');
		const held = await mesh.submitter.submit({ serverId });
		await sender?.ended();
		sender?.restart();
		expect(await becomes(mesh, held, 'HELD')).toMatchObject({ attempts: ['AMBIGUOUS'], letters: ['AMBIGUOUS'] });
		await mesh.drained();
		expect([mailsOf(mesh, resent), mailsOf(mesh, held)]).toEqual([2, 1]);
		expect(new Set(mesh.sink.mails.filter((mail) => mail.messageId.includes(resent)).map((mail) => mail.messageId)).size).toBe(1);
		expect(await mesh.broken()).toEqual([]);
	},
);

faultTest('F8 a crash between SENT and ack: the message comes again and calls no provider', async (mesh) => {
	const [, sender] = await mesh.startReady('outbox-publisher', 'mail-sender');
	mesh.failpoints.arm('settled', 'crash');
	const id = await mesh.submitter.submit();
	await sender?.ended();
	expect(await look(mesh, id)).toMatchObject({ status: 'SENT', entry: null });
	expect(await mesh.backlog()).toBe(1);
	sender?.restart();
	await eventually(async () => (await mesh.backlog()) === 0, { ...PATIENCE, what: 'the message to be acknowledged' });
	expect(mailsOf(mesh, id)).toBe(1);
	expect(await look(mesh, id)).toMatchObject({ status: 'SENT', attempts: ['ACCEPTED'], ambiguous: false });
	expect(await mesh.broken()).toEqual([]);
});
