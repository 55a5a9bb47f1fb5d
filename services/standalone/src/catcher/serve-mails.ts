import { createReadStream } from 'node:fs';
import { isUuid } from '@tidings/model';
import type { Logger } from '@tidings/telemetry';
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify';
import type { ParsedMail } from 'mailparser';
import { HTML_POLICY, PAGE_POLICY, PART_POLICY, wrapHtml } from './guard-html.js';
import { listenProblem } from './listen-problem.js';
import type { MailStore } from './mail-store.js';
import { PAGE_HTML } from './page-html.js';
import { PAGE_SCRIPT } from './page-script.js';
import { PAGE_STYLE } from './page-style.js';
import { describeMail, parseMail } from './parse-mail.js';

type ById = { Params: { id: string } };

const LIST_QUERY = {
	type: 'object',
	properties: {
		limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
		cursor: { type: 'string', format: 'uuid' },
		q: { type: 'string', maxLength: 200 },
	},
} as const;

/**
 * Serves the caught mails on 127.0.0.1: the page, and the API that it reads. `port` 0 is any free one.
 *
 * `GET /messages?limit=&cursor=&q=` → `{data, nextCursor}`, newest first, `limit` 1 to 200 (50), `q` occurs in subject, sender or recipient ·
 * `GET /messages/{id}` parsed · `/messages/{id}.eml` as received · `/messages/{id}/html` for the page's frame ·
 * `/messages/{id}/attachments/{index}`. Anything unknown is a 404.
 */
export async function serveMails(options: {
	store: MailStore;
	port: number;
	smtpPort: number;
	log: Logger;
}): Promise<{ port: number; close(): Promise<void> }> {
	const { store, log } = options;
	const app = Fastify({ forceCloseConnections: true, routerOptions: { maxParamLength: 100 } });
	app.addHook('onRequest', async (_request, reply) => {
		reply.headers({
			'content-security-policy': PAGE_POLICY,
			'x-content-type-options': 'nosniff',
			'referrer-policy': 'no-referrer',
			'cross-origin-resource-policy': 'same-origin',
			'cross-origin-opener-policy': 'same-origin',
			'cache-control': 'no-store',
		});
	});
	app.setNotFoundHandler((_request, reply) => sendProblem(reply, 404, 'There is nothing here.'));
	app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
		// A mail may have become one too old between being found and being read.
		const status = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 404 : (error.statusCode ?? 500);
		if (status < 500) return sendProblem(reply, status, status === 404 ? 'There is no such mail.' : error.message);
		log.error({ err: error }, 'the mail page failed');
		return sendProblem(reply, status, 'The mail cannot be read.');
	});
	servePage(app, options.smtpPort);
	serveApi(app, store);
	await app.listen({ port: options.port, host: '127.0.0.1' }).catch((cause) => {
		throw listenProblem({ cause, port: options.port, purpose: 'the page of caught mails', flag: '--mail-port' });
	});
	const address = app.server.address();
	return { port: typeof address === 'object' && address !== null ? address.port : options.port, close: () => app.close() };
}

function servePage(app: FastifyInstance, smtpPort: number): void {
	const page = PAGE_HTML.replaceAll('{{smtpPort}}', String(smtpPort));
	app.get('/', (_request, reply) => reply.type('text/html; charset=utf-8').send(page));
	app.get('/page.css', (_request, reply) => reply.type('text/css; charset=utf-8').send(PAGE_STYLE));
	app.get('/page.js', (_request, reply) => reply.type('text/javascript; charset=utf-8').send(PAGE_SCRIPT));
}

function serveApi(app: FastifyInstance, store: MailStore): void {
	const parse = makeParser();
	app.get<{ Querystring: { limit: number; cursor?: string; q?: string } }>(
		'/messages',
		{ schema: { querystring: LIST_QUERY } },
		async ({ query }) => {
			const { limit, cursor, q } = query;
			return store.list({ limit, ...(cursor === undefined ? {} : { cursor }), ...(q === undefined ? {} : { query: q }) });
		},
	);
	app.get<ById>('/messages/:id', async ({ params }, reply) => {
		const found = findMail(store, params.id);
		return found ? describeMail(found.summary, await parse(found.path)) : sendProblem(reply, 404, 'There is no such mail.');
	});
	app.get<ById>('/messages/:id.eml', async ({ params }, reply) => {
		const found = findMail(store, params.id);
		if (found === undefined) return sendProblem(reply, 404, 'There is no such mail.');
		reply.headers({
			'content-security-policy': PART_POLICY,
			'content-disposition': disposition(`${params.id}.eml`),
			'content-length': found.summary.size,
		});
		return reply.type('message/rfc822').send(createReadStream(found.path));
	});
	app.get<ById & { Querystring: { pictures?: string } }>('/messages/:id/html', async ({ params, query }, reply) => {
		const found = findMail(store, params.id);
		const html = found && (await parse(found.path)).html;
		if (!html) return sendProblem(reply, 404, 'There is no such mail, or it has no HTML.');
		reply.header('content-security-policy', HTML_POLICY[query.pictures === 'remote' ? 'remote' : 'own']);
		return reply.type('text/html; charset=utf-8').send(wrapHtml(html));
	});
	app.get<{ Params: { id: string; index: string } }>('/messages/:id/attachments/:index', async ({ params }, reply) => {
		const found = findMail(store, params.id);
		const part = found && /^\d{1,4}$/.test(params.index) ? (await parse(found.path)).attachments[Number(params.index)] : undefined;
		if (part === undefined) return sendProblem(reply, 404, 'There is no such attachment.');
		reply.headers({
			'content-security-policy': PART_POLICY,
			'content-disposition': disposition(part.filename ?? `part-${Number(params.index) + 1}`),
		});
		return reply.type(/^[\w.+-]+\/[\w.+-]+$/.test(part.contentType) ? part.contentType : 'application/octet-stream').send(part.content);
	});
}

function findMail(store: MailStore, id: string) {
	return isUuid(id) ? store.find(id.toLowerCase()) : undefined;
}

/** Remembers the mail parsed last: looking at one asks for its parts one after the other. */
function makeParser(): (path: string) => Promise<ParsedMail> {
	let last: { path: string; mail: Promise<ParsedMail> } | undefined;
	return (path) => {
		if (last?.path !== path) {
			const fresh = { path, mail: parseMail(path) };
			last = fresh;
			fresh.mail.catch(() => {
				if (last === fresh) last = undefined;
			});
		}
		return last.mail;
	};
}

function disposition(filename: string): string {
	const wellFormed = filename.toWellFormed();
	const plain = wellFormed.replace(/[^\x20-\x7e]|["\\%]/g, '_');
	const encoded = encodeURIComponent(wellFormed).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
	return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

function sendProblem(reply: FastifyReply, status: number, title: string): FastifyReply {
	return reply.code(status).type('application/problem+json').send({ type: 'about:blank', status, title });
}
