import { random } from '@tidings/model';

const FIRST_MS = 100;
const LONGEST_MS = 10_000;

/** How long to wait after the `failures`-th failure in a row, in milliseconds: 100 ms, doubling up to 10 s, each by up to half less, so that many do not come back at once. */
export function backoffMs(failures: number): number {
	return Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 10)) * (1 - random() / 2);
}
