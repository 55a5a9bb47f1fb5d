import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { Problem } from '@tidings/model';
import type { FastifyRequest } from 'fastify';
import { DEEPEST, MOST_VALUES, scanJson } from './scan-json.js';

/** A body up to this size is parsed without a look before: it cannot hold much. */
const SMALL_BYTES = 65_536;

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
	if (raw.length > SMALL_BYTES) refuseUnreasonable(raw);
	try {
		return JSON.parse(raw.toString('utf8'));
	} catch {
		throw new Problem('malformed-request', 'The body is not JSON.');
	}
}

function refuseUnreasonable(raw: Buffer): void {
	switch (scanJson(raw)) {
		case 'too deep':
			throw new Problem('malformed-request', `The body is nested more than ${DEEPEST} levels deep.`);
		case 'too many':
			throw new Problem('body-too-large', `The body holds more than ${MOST_VALUES} values.`);
		case 'fine':
	}
}

function quote(text: string): string {
	return JSON.stringify(text.slice(0, 40));
}
