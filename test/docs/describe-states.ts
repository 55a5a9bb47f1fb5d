import {
	type DeadLetterAct,
	type DeadLetterStatus,
	deadLetterMachine,
	type Machine,
	type OutboxAct,
	type OutboxStatus,
	outboxMachine,
	type ReplayAct,
	type ReplayStatus,
	replayMachine,
	type SendAct,
	type SendStatus,
	sendRecordMachine,
	type TenantAct,
	type TenantStatus,
	tenantMachine,
} from '@tidings/model';

/** What stands on the page beside a machine's table: each state's meaning, and what each act is. */
type Words<Status extends string, Act extends string> = {
	readonly title: string;
	readonly about: string;
	readonly states: Readonly<Record<Status, string>>;
	readonly acts: Readonly<Record<Act, string>>;
};

const RECORD: Words<SendStatus, SendAct> = {
	title: 'A record',
	about: 'One message to deliver, whatever its channel. Its first state is PENDING, or SKIPPED.',
	states: {
		PENDING: 'Accepted and waiting for its first attempt.',
		RETRY: 'Waiting for another attempt.',
		SENDING: 'In the hands of a sender, until its lease is over.',
		SENT: 'A provider accepted it.',
		BOUNCED: 'It was accepted and came back from every recipient.',
		FAILED: 'A provider refused it for good.',
		DEAD_LETTER: 'Given up after the last attempt, or needs a person; its letter says why.',
		HELD: 'Nobody knows whether it was accepted, and its config wants a person to decide.',
		CANCELLED: 'Taken back before it was sent.',
		EXPIRED: 'Too late to be of use.',
		SKIPPED: 'Never to be sent: no address, opted out, or suppressed.',
	},
	acts: {
		claim: 'a sender takes a due record',
		settle: 'the sender writes what came of it, while it holds the lease',
		'settle-late': 'the sender writes a success after its lease was swept',
		sweep: 'the lease ran out',
		expire: 'the time after which it is of no use has passed',
		poison: 'handling its message failed five times in a way that nobody understands',
		retry: 'a person asks for one more attempt',
		release: 'a person decides about a held record',
		cancel: 'a person, or a newer message, takes it back',
		prove: 'a report or a callback proves what happened',
	},
};

const OUTBOX: Words<OutboxStatus, OutboxAct> = {
	title: 'An outbox entry',
	about: 'The promise that a record will be published. The claim of its record removes it.',
	states: {
		NEW: 'Waits to be due and published.',
		PUBLISHING: 'In the hands of a publisher, until its lease is over.',
		PUBLISHED: 'The broker has it. If nobody claims the record in time, it is published again.',
		DEAD: 'The broker refused it too often; a person may reopen it.',
	},
	acts: {
		take: 'a publisher leases a due entry',
		mark: 'the broker confirmed it',
		'give-back': 'it could not be published now',
		'hand-back': 'a sender got it and may not send it now: its gate is closed, or full',
		bury: 'the broker refused it for the last time',
		heal: 'its lease ran out, or the broker lost it',
		reopen: 'its tenant may send again',
		requeue: 'a person reopens it, or a fresh entry takes its place',
	},
};

const LETTER: Words<DeadLetterStatus, DeadLetterAct> = {
	title: 'A dead letter',
	about: 'What waits for a person. A record has at most one that is PENDING.',
	states: {
		PENDING: 'Waits for a person.',
		RESOLVED: 'Its record went on by some road, or a person settled it.',
		DISCARDED: 'A person found it not worth keeping open.',
	},
	acts: { resolve: 'the record left, or a person said so', discard: 'a person closes it unresolved' },
};

const REPLAY: Words<ReplayStatus, ReplayAct> = {
	title: 'A replay of dead letters',
	about: 'Many letters that a person has sent again, worked off by the dead-letter service.',
	states: {
		RUNNING: 'Letters are replayed, at its rate.',
		DONE: 'Every letter had its turn.',
		STOPPED: 'A person stopped it. What was replayed until then stays so.',
		FAILED: 'It could not go on; it says why.',
	},
	acts: { finish: 'the last letter had its turn', stop: 'a person stops it', fail: 'its tenant is being deleted' },
};

const TENANT: Words<TenantStatus, TenantAct> = {
	title: 'A tenant',
	about: 'Who uses the mesh. The platform’s own tenant never leaves ACTIVE.',
	states: {
		ACTIVE: 'Takes messages, and they go out.',
		SUSPENDED: 'Takes no messages. What waits is kept and does not go out; what is too late expires.',
		DELETING: 'Takes no messages. What waits is delivered or cancelled, as the operator chose; then all is erased.',
		DELETED: 'Nothing is left but its name, its times and its audit events.',
	},
	acts: {
		suspend: 'the operator stops it for a while',
		resume: 'the operator lets it go on; not once erasing has begun',
		delete: 'the operator deletes it; a suspended one only together with what waits',
		erase: 'nothing of it is left',
	},
};

/** The page of the state machines: the meaning of each state, a drawing, and the table of moves. */
export function describeStates(): string {
	return `# States

Every change of state is one of these moves, written by compare-and-swap in \`libs/db/src/transition.ts\`. The tables stand in \`libs/model/src/states\`.

${describe(sendRecordMachine, RECORD)}
${describe(outboxMachine, OUTBOX)}
${describe(deadLetterMachine, LETTER)}
${describe(replayMachine, REPLAY)}
${describe(tenantMachine, TENANT)}`;
}

function describe<Status extends string, Act extends string>(machine: Machine<Status, Act>, words: Words<Status, Act>): string {
	const states = machine.states.map((status) => `| \`${status}\` | ${words.states[status]} |`);
	const acts = [...new Set(machine.moves.map(({ act }) => act))].map((act) => {
		const moves = machine.moves.filter((move) => move.act === act).map(({ from, to }) => `${from} → ${to}`);
		return `| \`${act}\` | ${words.acts[act]} | ${moves.join(', ')} |`;
	});
	return `## ${words.title}

${words.about} Status column of \`${machine.name}\`.

| state | meaning |
|---|---|
${states.join('\n')}

\`\`\`mermaid
stateDiagram-v2
${arrows(machine).join('\n')}
\`\`\`

| act | what it is | moves |
|---|---|---|
${acts.join('\n')}
`;
}

/** One arrow for each pair, with all the acts that go along it. A state without arrows still stands in the drawing. */
function arrows<Status extends string, Act extends string>(machine: Machine<Status, Act>): string[] {
	const pairs = new Map<string, string[]>();
	for (const { act, from, to } of machine.moves) {
		const pair = `\t${from} --> ${to}`;
		pairs.set(pair, [...(pairs.get(pair) ?? []), act]);
	}
	const lonely = machine.states.filter((status) => !machine.moves.some(({ from, to }) => from === status || to === status));
	const born = `\t[*] --> ${machine.states[0]}`;
	return [born, ...lonely.map((status) => `\t[*] --> ${status}`), ...[...pairs].map(([pair, acts]) => `${pair}: ${acts.join(', ')}`)];
}
