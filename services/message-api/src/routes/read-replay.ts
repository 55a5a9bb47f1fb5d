import type { LetterFilter, ReplaySelection } from '@tidings/db';
import type { Caller, OperationRequest } from '@tidings/runtime';
import type { Static } from 'typebox';
import { beginChecks, type Faults, type Raw, rawOf, refuseFaulty, textOf } from '../checks/faults.js';
import { readTime } from '../checks/time.js';
import { DEFAULT_RATE, type NewReplaySchema } from './replay-shape.js';

/** A replay that is wanted. */
export type WantedReplay = {
	readonly selection: ReplaySelection;
	readonly dryRun: boolean;
	readonly ratePerSecond: number;
	readonly note: string | null;
};

/** Reads the body of a replay. Throws 422 with every fault. */
export function readReplay(request: OperationRequest, caller: Caller): WantedReplay {
	const { raw, faults } = beginChecks(request);
	const note = textOf(raw, 'note', '', faults);
	if (raw['filter'] === undefined && raw['ids'] === undefined)
		faults.add('/filter', 'required', 'Say which letters: by `filter`, of which `{}` is all that are open, or by `ids`.');
	if (raw['filter'] !== undefined && raw['ids'] !== undefined)
		faults.add('/ids', 'contradiction', 'Either `filter` or `ids`: leave out one of them.');
	const filter = readFilter(rawOf(raw['filter']) ?? {}, caller, faults);
	refuseFaulty(faults);
	const { ids, dryRun = false, ratePerSecond = DEFAULT_RATE } = request.body as Static<typeof NewReplaySchema>;
	const selection: ReplaySelection =
		ids === undefined ? { kind: 'filter', filter } : { kind: 'ids', ids: [...new Set(ids.map((id) => id.toLowerCase()))] };
	return { selection, dryRun, ratePerSecond, note };
}

const AT = '/filter';

function readFilter(raw: Raw, caller: Caller, faults: Faults): LetterFilter {
	const type = textOf(raw, 'type', AT, faults);
	const text = textOf(raw, 'text', AT, faults);
	if (raw['text'] !== undefined && !caller.capabilities.has('content:read'))
		faults.add(
			`${AT}/text`,
			'needs-content-read',
			'Without the capability `content:read` a replay cannot be chosen by a text: how many match would tell what is masked. Use the list and `ids`.',
		);
	const createdAfter = readBound(raw, 'createdAfter', faults);
	const createdBefore = readBound(raw, 'createdBefore', faults);
	if (createdAfter !== null && createdBefore !== null && createdAfter >= createdBefore)
		faults.add(`${AT}/createdBefore`, 'out-of-order', '`createdBefore` must be later than `createdAfter`.');
	const plain = (field: string): string | null => (typeof raw[field] === 'string' ? raw[field] : null);
	const [source, channel, category] = ['source', 'channel', 'category'].map(plain);
	const given = { source, channel, category, type, text, createdAfter, createdBefore };
	return Object.fromEntries(Object.entries(given).filter(([, value]) => value != null)) as LetterFilter;
}

function readBound(raw: Raw, field: string, faults: Faults): Date | null {
	const given = raw[field];
	if (typeof given !== 'string' || faults.isTooLong(AT, field)) return null;
	const time = readTime(given);
	if (time === null)
		faults.add(`${AT}/${field}`, 'bad-format', `\`${field}\` must be an RFC 3339 time with a zone, not before the year 2000.`);
	return time;
}
