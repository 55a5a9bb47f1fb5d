import { GATE_REASONS, type GateReason, type GateRow, WAITING_MOST } from '@tidings/db';
import { CATEGORIES } from '@tidings/model';
import type { Caller } from '@tidings/runtime';
import { type Static, Type } from 'typebox';
import { maskAddressesIn } from '../checks/address.js';
import { nullable, timeText } from '../routes/shapes.js';

const GATE = {
	state: Type.Enum(['OPEN', 'HALF_OPEN', 'CLOSED'], {
		description:
			'`CLOSED`: nothing goes through, and what waits burns no attempt. `HALF_OPEN`: one message at a time, until one has shown that it works again.',
	}),
	reason: Type.Unsafe<GateReason | null>({
		type: ['string', 'null'],
		enum: [...GATE_REASONS, null],
		description:
			'Why it is closed. `RATE`: a limit is reached. `AUTH`: the log-in was refused. `CONFIG`: certificate, TLS or another setting. `UNREACHABLE`: no connection, or no answer. `QUOTA`: the provider says that its allowance is spent. `PAUSED`: a person stopped it.',
	}),
	detail: nullable(
		Type.String({
			description: 'What the provider said, or the note of who paused it, addresses in it masked without the capability `content:read`.',
		}),
	),
	closedUntil: nullable(
		timeText('When it opens by itself; null when it is open, or stays closed until a probe, a change or a person opens it.'),
	),
	probeAt: nullable(timeText('When it is tried next by a log-in without a message; null: it is not.')),
	since: timeText('Since when it stands so.'),
};

/** A gate as it is read. */
export const GateSchema = Type.Object(GATE, { $id: 'Gate', description: 'The door to a provider.' });
export type ShownGate = Static<typeof GateSchema>;

/** How a mail server stands. */
export const ServerStateSchema = Type.Object(
	{
		gate: Type.Ref('Gate'),
		windows: Type.Unsafe<object[] | null>({
			...Type.Array(
				Type.Object({
					window: Type.Enum(['minute', 'day'], { description: 'A minute, or a day of UTC.' }),
					limit: Type.Integer({ description: 'Recipients that it holds.' }),
					used: Type.Integer({ description: 'Recipients so far.' }),
					left: Type.Integer({ description: 'Recipients that still find room.' }),
					resetsAt: timeText('When the next one begins.'),
				}),
			),
			type: ['array', 'null'],
			description: 'Its limits; empty: it has none. Null: this API has no `REDIS_URL`, or Redis is away.',
		}),
		waiting: Type.Integer({
			description: `Messages that wait for it and were not handed to a sender; ${WAITING_MOST} stands for that many and more.`,
		}),
		lastError: Type.Unsafe<object | null>({
			...Type.Object({
				at: timeText('When.'),
				messageId: nullable(
					Type.String({ format: 'uuid', description: 'Of which message; null: of a probe, or of a message that is gone or not yours.' }),
				),
				category: Type.Enum([...CATEGORIES], { description: 'What kind.' }),
				stage: Type.String({ description: 'How far the conversation had come.' }),
				code: nullable(Type.String({ description: 'Reply code, such as `535`.' })),
				enhancedCode: nullable(Type.String({ description: 'Enhanced status code, such as `5.7.8`.' })),
				text: Type.String({ description: "The provider's own words, without addresses." }),
			}),
			type: ['object', 'null'],
			description: 'The newest no that was about the server and not about a recipient. Written at most every five seconds.',
		}),
	},
	{ $id: 'MailServerState', description: 'How a mail server stands.' },
);

/** A route and its gate. */
export const RouteSchema = Type.Object(
	{ route: Type.String({ description: 'A kind of work with topics of its own.' }), gate: Type.Ref('Gate') },
	{ $id: 'Route', description: 'A kind of work, for all tenants.' },
);

/** A gate to copy. */
export const OPEN_GATE = {
	state: 'OPEN',
	reason: null,
	detail: null,
	closedUntil: null,
	probeAt: null,
	since: '2026-11-30T09:00:00.000Z',
};

/** A gate as a caller may see it; one that was never moved is open. `createdAt`: since when it is then. */
export function showGate(row: GateRow | undefined, createdAt: Date, { capabilities }: Pick<Caller, 'capabilities'>): ShownGate {
	const detail = row?.detail ?? null;
	return {
		state: row?.state ?? 'OPEN',
		reason: row?.reason ?? null,
		detail: detail === null || capabilities.has('content:read') ? detail : maskAddressesIn(detail),
		closedUntil: row?.closedUntil?.toISOString() ?? null,
		probeAt: row?.probeAt?.toISOString() ?? null,
		since: (row?.since ?? createdAt).toISOString(),
	};
}
