import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLogger } from '@tidings/telemetry';
import { createTransport } from 'nodemailer';
import { type Browser, chromium } from 'playwright-core';
import { type Catcher, startCatcher } from './start-catcher.js';

const CHROMIUM = '/usr/bin/chromium';
const PIXEL = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==', 'base64');
const ATTACK = '<script>document.title = top.document.title = "owned"; document.body.innerHTML = "owned"</script>';
let dataDir = '';
let catcher: Catcher;
let browser: Browser;

beforeAll(async () => {
	if (!existsSync(CHROMIUM)) throw new Error(`The page's test needs ${CHROMIUM} (on Debian: apt-get install chromium).`);
	dataDir = mkdtempSync(join(tmpdir(), 'tidings-page-'));
	catcher = await startCatcher({ dataDir, smtpPort: 0, webPort: 0, log: createLogger({ service: 'test', level: 'silent' }) });
	browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
});

afterAll(async () => {
	await browser?.close();
	await catcher?.close();
	rmSync(dataDir, { recursive: true, force: true });
});

function send(subject: string): Promise<unknown> {
	return createTransport({ host: '127.0.0.1', port: catcher.smtpPort }).sendMail({
		from: 'a@example.com',
		to: 'b@example.com',
		subject,
		html: `<h1>Hello</h1><img id="own" src="cid:logo"><img id="away" src="http://127.0.0.1:${catcher.webPort}/page.css"><form action="/"><button>go</button></form><img src=x onerror="top.document.title='owned'">${ATTACK}`,
		attachments: [
			{ filename: 'logo.png', content: PIXEL, cid: 'logo' },
			{ filename: `發票 ${ATTACK.replaceAll('/', '')}.html`, content: ATTACK },
		],
	});
}

test('the page tells how to begin, shows a mail as it comes in, and nothing that the mail says runs', async () => {
	const page = await browser.newPage();
	const asked: string[] = [];
	page.on('request', (request) => asked.push(new URL(request.url(), 'data:,').origin));
	await page.goto(`http://127.0.0.1:${catcher.webPort}/`);
	await page.getByText(`port ${catcher.smtpPort}`).waitFor();

	const subject = `訂單 <img src=x onerror="document.title='owned'">`;
	await send(subject);
	await page.getByRole('link', { name: subject }).waitFor();
	await page.keyboard.press('j');
	await page.getByRole('heading', { name: subject }).waitFor();

	const frame = page.frameLocator('#frame');
	await frame.getByRole('heading', { name: 'Hello' }).waitFor();
	expect(await frame.locator('#own').evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth)).toBe(1);
	expect(await page.locator('#frame').getAttribute('sandbox')).toBe('allow-popups allow-popups-to-escape-sandbox');
	await page.getByRole('tab', { name: 'HTML' }).press('End');
	await page.getByRole('link', { name: '發票' }).waitFor();
	expect(await page.title()).toBe('Caught mails · Tidings');
	expect(await page.locator('#shown script, #list script, #shown img, #list img').count()).toBe(0);
	expect(new Set(asked.filter((origin) => origin !== 'null'))).toEqual(new Set([`http://127.0.0.1:${catcher.webPort}`]));

	await page.getByRole('searchbox').fill('no such mail');
	await page.getByText('No mail matches.').waitFor();
	await page.close();
});

test("a mail's HTML opened by itself runs nothing either", async () => {
	await send('alone');
	const origin = `http://127.0.0.1:${catcher.webPort}`;
	const { data } = (await (await fetch(`${origin}/messages?limit=1`)).json()) as { data: { id: string }[] };
	const page = await browser.newPage();
	await page.goto(`${origin}/messages/${data[0]?.id}/html`);
	await page.getByRole('heading', { name: 'Hello' }).waitFor();
	expect(await page.title()).not.toBe('owned');
	await page.close();
});
