import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { Problem } from '@tidings/model';
import type { FastifyRequest } from 'fastify';

/**
 * Reads a JSON body strictly: UTF-8 without errors, no content coding, no other charset. An empty body is `null`, which a schema refuses unless the body is optional.
 * A key `__proto__` becomes an own property like any other, so no prototype changes and schemas see it as an unknown field.
 * When an Idempotency-Key is there, the SHA-256 of the raw bytes is kept in `request.bodySha256`.
 */
export function readJsonBody(request: FastifyRequest, raw: Buffer): unknown {
	const { headers } = request;
	const coding = headers['content-encoding'];
	if (coding !== undefined && coding !== 'identity')
		throw new Problem('unsupported-media-type', `The content coding ${quote(coding)} is not taken: send the body as it is.`);
	const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers['content-type'] ?? '')?.[1];
	if (charset !== undefined && !/^utf-?8$/i.test(charset))
		throw new Problem('unsupported-media-type', `The charset ${quote(charset)} is not taken: send UTF-8.`);
	if (headers['idempotency-key'] !== undefined) request.bodySha256 = createHash('sha256').update(raw).digest();
	if (raw.length === 0) return null;
	if (!isUtf8(raw)) throw new Problem('malformed-request', 'The body is not UTF-8.');
	try {
		return JSON.parse(raw.toString('utf8'));
	} catch {
		throw new Problem('malformed-request', 'The body is not JSON.');
	}
}

function quote(text: string): string {
	return JSON.stringify(text.slice(0, 40));
}
