import { expect, test } from '@jest/globals';
import { createMetrics, METRICS, type MetricRow } from '@tidings/telemetry';
import { hasPromtool, lintMetrics } from '../harness/promtool.js';

const testWithPromtool = hasPromtool ? test : test.skip;
if (!hasPromtool) process.stderr.write('not run: promtool is not installed (Debian: package prometheus)\n');

type Touch = Record<'inc' | 'set' | 'observe', ((labels: object, value: number) => void) | undefined>;

/** A page on which every metric of the table has a series, beside those of the process. */
async function fullPage(): Promise<string> {
	const metrics = createMetrics({ service: 'demo', version: '1' });
	const instruments = metrics as unknown as Record<string, Touch>;
	for (const [key, row] of Object.entries<MetricRow>(METRICS)) {
		const labels = Object.fromEntries(Object.entries(row.labels).map(([label, values]) => [label, values?.[0] ?? 'any']));
		const instrument = instruments[key];
		(instrument?.observe ?? instrument?.set ?? instrument?.inc)?.call(instrument, labels, 1);
	}
	return await metrics.registry.metrics();
}

testWithPromtool('promtool has nothing against any metric', async () => {
	expect(lintMetrics(await fullPage())).toEqual([]);
});

testWithPromtool('promtool is heard when a metric is wrong', () => {
	expect(lintMetrics('# TYPE wrong_total gauge\nwrong_total 1\n')).not.toEqual([]);
});

test('every metric of the table is on the page', async () => {
	const page = await fullPage();
	for (const { name } of Object.values<MetricRow>(METRICS)) expect(page).toMatch(new RegExp(`^${name}(_count)?[ {]`, 'm'));
});
