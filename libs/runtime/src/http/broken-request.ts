import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { continueTrace, Problem } from '@tidings/model';
import { renderProblem } from './problem.js';

/** A request that is right but for its method, which the parser of HTTP does not know. */
const REQUEST_LINE = /^[!-~]+ \/[!-~]* HTTP\/1\.[01]\r?\n/;
const LOOKED_AT = 1_024;

/** Answers what is not HTTP at all, or came too slowly, and hangs up. */
export function answerBrokenRequest(error: Error & { code?: string; rawPacket?: unknown }, socket: Socket): void {
	if (error.code === 'ECONNRESET' || !socket.writable) {
		socket.destroy();
		return;
	}
	const detail =
		error.code === 'HPE_HEADER_OVERFLOW'
			? 'The headers are too large.'
			: error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
				? 'The request did not arrive in time.'
				: 'This is not an HTTP request.';
	const packet = Buffer.isBuffer(error.rawPacket) ? error.rawPacket.toString('latin1', 0, LOOKED_AT) : '';
	const isMethod = error.code === 'HPE_INVALID_METHOD' && REQUEST_LINE.test(packet);
	const problem = isMethod
		? new Problem('method-not-allowed', 'There is no such method; those of this API are GET, HEAD, POST, PUT, PATCH and DELETE.')
		: new Problem('malformed-request', detail);
	const { traceId } = continueTrace(undefined);
	const { status, headers, body } = renderProblem(problem, { instance: '', traceId });
	const allow = isMethod ? { allow: 'GET, HEAD, POST, PUT, PATCH, DELETE' } : {};
	const lines = Object.entries({
		'tidings-trace-id': traceId,
		...headers,
		...allow,
		'content-length': Buffer.byteLength(body),
		connection: 'close',
	}).map(([name, value]) => `${name}: ${value}\r\n`);
	// An answer to HEAD ends with its headers: the client takes what follows for the next answer.
	const shown = packet.startsWith('HEAD ') ? '' : body;
	socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${shown}`);
}
