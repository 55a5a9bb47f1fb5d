import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';

/** Everything comes from here, and nothing can be framed or sent elsewhere. The page sets styles on its own elements, so those may be inline; scripts may not. */
const PAGE_POLICY = [
	"default-src 'none'",
	"script-src 'self'",
	"style-src 'self' 'unsafe-inline'",
	"img-src 'self' data:",
	"font-src 'self'",
	"connect-src 'self'",
	"base-uri 'none'",
	"form-action 'none'",
	"frame-ancestors 'none'",
].join('; ');

const STYLE = `
.swagger-ui .info { margin: 24px 0 }
.swagger-ui .scheme-container { padding: 12px 0; box-shadow: none; border-bottom: 1px solid #ddd }
.swagger-ui .opblock .opblock-summary-path { max-width: none; flex: 1 1 auto }
`;

/** Serves the reference page `/docs`: the document, to be read and tried in a browser, without anything from elsewhere. It needs no credential and is no operation. */
export async function serveReference(app: FastifyInstance, title: string): Promise<void> {
	await app.register(swaggerUi, {
		routePrefix: '/docs',
		staticCSP: PAGE_POLICY,
		theme: { title: `${title} API`, css: [{ filename: 'page.css', content: STYLE }] },
		uiConfig: {
			layout: 'BaseLayout',
			deepLinking: true,
			docExpansion: 'list',
			defaultModelsExpandDepth: 0,
			defaultModelExpandDepth: 3,
			displayRequestDuration: true,
			filter: true,
			showCommonExtensions: true,
			// A key stays in the page only while it is open.
			persistAuthorization: false,
			// Would ask a service elsewhere about the document.
			validatorUrl: 'none',
		},
		uiHooks: {
			// The document has one address; the library's copies would be written out anew for every request.
			onRequest: (request, reply, done) => {
				if (/^\/docs\/(json|yaml)(\?|$)/.test(request.url)) reply.redirect('/openapi.json');
				else done();
			},
		},
	});
	// The library's files include a page of their own, which would find no document.
	app.get('/docs/static/', { schema: { hide: true } }, (_request, reply) => reply.redirect('/docs'));
}
