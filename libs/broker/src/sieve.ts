import { monotonic } from '@tidings/model';

/** Beyond so many texts the oldest are forgotten, and may be told again. */
const MOST_TEXTS = 200;

/** Makes a test of texts: true when one was not let through within the last `quietMs` milliseconds. Ids, ports and counts make no other text of it. */
export function makeSieve(quietMs: number): (text: string) => boolean {
	const toldAt = new Map<string, number>();
	return (text) => {
		const kind = text.replace(/\d+/g, '0');
		const before = toldAt.get(kind);
		if (before !== undefined && monotonic() - before < quietMs) return false;
		toldAt.delete(kind); // in the order of their telling
		toldAt.set(kind, monotonic());
		const [oldest] = toldAt.keys();
		if (toldAt.size > MOST_TEXTS && oldest !== undefined) toldAt.delete(oldest);
		return true;
	};
}
