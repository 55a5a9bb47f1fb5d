import { spawnSync } from 'node:child_process';

/** Whether this machine has promtool (Debian: package prometheus). */
export const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

/** What promtool has against a page of metrics; empty when it is right. Only where `hasPromtool`. */
export function lintMetrics(page: string): string[] {
	const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: page, encoding: 'utf8' });
	const complaints = `${stdout}${stderr}`.split('\n').filter((line) => line.trim() !== '');
	return status === 0 || complaints.length > 0 ? complaints : [`promtool ended with ${status}`];
}
