import { type Db, findRouteGates, troubleOf, wakeSleepingFlows } from '@tidings/db';
import { ROUTES, type Route } from '@tidings/model';
import { type Caller, callerOf, type Operation, type OperationRequest, operation } from '@tidings/runtime';
import { Type } from 'typebox';
import { OPEN_GATE, RouteSchema, type ShownGate, showGate } from '../servers/gate-shape.js';
import { moveRoute } from '../servers/move-gate.js';
import { NoteBody, readNote } from './read-note.js';

/** Schemas that these operations refer to. */
export const ROUTE_SCHEMAS = [RouteSchema];

const shared = { tag: 'Outbox', access: 'platform' } as const;
/** Where no gate was ever made. */
const EVER = new Date(0);

/** `GET /v1/routes`, and for each route `POST /v1/routes/{route}:pause` and `:resume`. */
export function routeOperations(db: Db): Operation[] {
	const list = operation({
		...shared,
		method: 'GET',
		path: '/v1/routes',
		operationId: 'listRoutes',
		summary: 'The kinds of work, and whether they are paused',
		answers: { 200: Type.Object({ data: Type.Array(Type.Ref('Route')) }, { description: 'All of them.' }) },
		example: { data: [{ route: 'mail-send', gate: OPEN_GATE }] },
		handle: async (request) => ({ data: await routesOf(db, callerOf(request)) }),
	});
	return [list, ...ROUTES.flatMap(({ route }) => [actOperation(db, route, 'pause'), actOperation(db, route, 'resume')])];
}

function actOperation(db: Db, route: Route, act: 'pause' | 'resume'): Operation {
	const name = route.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
	return operation({
		...shared,
		method: 'POST',
		path: `/v1/routes/${route}:${act}`,
		operationId: `${act}${name}`,
		summary: act === 'pause' ? `Stop \`${route}\` for all tenants` : `Let \`${route}\` go on`,
		description:
			act === 'pause'
				? 'Messages are still accepted and wait, until it is resumed or they are too late. What is being sent at this moment ends as it would. What is paused already stays so.'
				: 'What waits goes out. What goes already stays so.',
		body: NoteBody,
		bodyOptional: true,
		collectsFaults: true,
		answers: { 200: Type.Ref('Route') },
		example: { note: 'a wrong mailing is under way' },
		answerExamples: { 200: { route, gate: OPEN_GATE } },
		handle: async (request) => await move(db, request, { route, act }),
	});
}

async function move(db: Db, request: OperationRequest, { route, act }: { route: Route; act: 'pause' | 'resume' }): Promise<object> {
	const note = readNote(request);
	const caller = callerOf(request);
	const who = { actor: caller.actor, traceId: request.trace.traceId };
	if ((await moveRoute(db, who, route, { act, note })) && act === 'resume') await wakeAll(db);
	return (await routesOf(db, caller)).find((row) => row.route === route) ?? { route, gate: showGate(undefined, EVER, caller) };
}

/** Has the publishers look at once at what waits. The commit stands whether or not this hint arrives: they find what sleeps too long by themselves. */
async function wakeAll({ pool }: Db): Promise<void> {
	try {
		await wakeSleepingFlows(pool);
		await pool.query('notify tidings_outbox');
	} catch (error) {
		if (troubleOf(error) === 'bug') throw error;
	}
}

async function routesOf({ pool }: Db, caller: Caller): Promise<{ route: Route; gate: ShownGate }[]> {
	const gates = await findRouteGates(pool);
	return ROUTES.map(({ route }) => ({ route, gate: showGate(gates.get(route), EVER, caller) }));
}
