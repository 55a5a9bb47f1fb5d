/** Policy of the page itself: its own script, style and frames, nothing from elsewhere. */
export const PAGE_POLICY =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Policy of what a mail carries when it is opened by itself: it may do nothing. */
export const PART_POLICY = "default-src 'none'; sandbox; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const MAIL_RULES = "style-src 'unsafe-inline'; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";
const MAIL_SANDBOX = 'sandbox allow-popups allow-popups-to-escape-sandbox';

/** Policy of a mail's HTML: no script, no form, no origin; pictures of its own, or also those of the web when the reader asks for them. */
export const HTML_POLICY = {
	own: `default-src 'none'; img-src data:; ${MAIL_RULES}; ${MAIL_SANDBOX}`,
	remote: `default-src 'none'; img-src data: http: https:; ${MAIL_RULES}; ${MAIL_SANDBOX}`,
} as const;

/** A mail's HTML as a document of its own whose links open in a new window. A doctype stays first, lest the browser change its layout mode. */
export function wrapHtml(html: string): string {
	const doctype = /^\s*<!doctype[^>]*>/i.exec(html)?.[0] ?? '<!doctype html>';
	const rest = html.replace(/^\s*<!doctype[^>]*>/i, '');
	return `${doctype}<meta charset="utf-8"><base target="_blank">${rest}`;
}
