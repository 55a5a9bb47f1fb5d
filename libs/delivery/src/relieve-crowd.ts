import { isAtDoor } from '@tidings/model';
import type { Ended } from './ended.js';
import { behindGate } from './judge-gates.js';

/**
 * Some providers take fewer connections at once than we have slots, and say so at the door with a `421` that reads like an outage or a spent allowance. As long as others are under way it is taken for
 * their number: the line is narrowed, nothing is closed, and the record waits and burns nothing. Whoever is refused alone is judged as usual, so that a provider that takes nobody costs a few tries more.
 */
export function relieveCrowd(line: { narrow(): boolean; widen(): void }, ended: Ended): Ended {
	const { record, verdict, settlement } = ended;
	if (verdict.kind === 'alive') line.widen();
	if (verdict.kind === 'alive' || verdict.kind === 'nothing' || record.trial !== null) return ended;
	const { stage, code, category } = verdict.refusal;
	const isFull = isAtDoor(stage) && code !== null && (category === 'QUOTA' || category === 'TRANSIENT');
	if (!isFull || !line.narrow()) return ended;
	return { ...ended, verdict: { kind: 'nothing' }, settlement: behindGate(settlement) };
}
