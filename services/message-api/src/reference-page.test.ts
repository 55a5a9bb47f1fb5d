import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Browser, chromium, type Page } from 'playwright-core';
import { startApi, type TestApi } from '../../../test/harness/api.js';

const CHROMIUM = '/usr/bin/chromium';
let api: TestApi;
let browser: Browser;
let page: Page;
const asked: string[] = [];
const faults: string[] = [];

beforeAll(async () => {
	if (!existsSync(CHROMIUM)) throw new Error(`The page's test needs ${CHROMIUM} (on Debian: apt-get install chromium).`);
	api = await startApi();
	browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
	page = await browser.newPage();
	page.on('request', (request) => asked.push(new URL(request.url(), 'data:,').origin));
	page.on('console', (message) => void (message.type() === 'error' && faults.push(message.text())));
	page.on('pageerror', (error) => faults.push(String(error)));
	await page.goto(`${api.origin}/docs`);
	await page.getByText('Send a mail', { exact: true }).waitFor();
});
afterAll(async () => {
	await browser?.close();
	await api?.stop();
});

test('the page shows every operation under its tag, loads nothing from elsewhere, and breaks none of its own rules', async () => {
	expect(await page.title()).toBe('Tidings API');
	const { body } = await api.call('/openapi.json', { key: null });
	const count = Object.values<object>(body.paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0);
	expect(await page.locator('.opblock').count()).toBe(count);
	expect(await page.locator('.opblock-tag').count()).toBe(body.tags.length);
	expect(new Set(asked.filter((origin) => origin !== 'null'))).toEqual(new Set([api.origin]));
	expect(faults).toEqual([]);
});

test('a key can be given to the page, and an operation be tried with it', async () => {
	await page.locator('.btn.authorize').click();
	await page.getByRole('textbox').first().fill(api.apiKey);
	await page.locator('.modal-btn.authorize').first().click();
	await page.locator('.btn-done').first().click();
	await page.getByText('List messages, newest first', { exact: true }).click();
	await page.locator('.try-out__btn').click();
	await page.locator('.execute').click();
	await page.locator('.live-responses-table .response-col_status').filter({ hasText: '200' }).waitFor();
	expect(await page.locator('.live-responses-table').textContent()).toContain('"nextCursor": null');
});

test('the page has its own policy, needs no credential, and gives out nothing but its files', async () => {
	for (const path of ['/docs', '/docs/', '/docs/static/swagger-ui-bundle.js', '/docs/static/swagger-ui.css']) {
		const { status, headers } = await fetch(api.origin + path);
		expect([path, status, headers.get('x-content-type-options')]).toEqual([path, 200, 'nosniff']);
		expect(headers.get('content-security-policy')).toContain("script-src 'self';");
		expect(headers.get('content-security-policy')).not.toContain('http');
	}
	for (const path of ['/docs/static/', '/docs/static/index.html']) expect((await fetch(api.origin + path)).url).toMatch(/\/docs\/?$/);
	expect((await fetch(`${api.origin}/docs/json`)).url).toBe(`${api.origin}/openapi.json`);
	expect((await fetch(`${api.origin}/openapi.json`)).headers.get('content-security-policy')).toContain("default-src 'none'");
	for (const path of [
		'/docs/static/../package.json',
		'/docs/static/%2e%2e/package.json',
		'/docs/static/..%2fpackage.json',
		'/docs/static/..%5cpackage.json',
		'/docs/static/%00',
		'/docs/static/.hidden',
		'/docs/static/nothing.js',
		'/docs/package.json',
		'/docs/theme/page.css',
	]) {
		const response = await fetch(new Request(`${api.origin}${path}`));
		expect([path, response.status < 500, response.headers.get('content-type')]).toEqual([path, true, 'application/problem+json']);
	}
	expect((await fetch(`${api.origin}/docs`, { method: 'POST' })).status).toBe(404);
});
