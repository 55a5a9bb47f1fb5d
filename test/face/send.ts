import { type Agent, request } from 'node:http';

/** An answer as it came: `body` is the value of a JSON body, null where there is none; `text` is its text. */
export type Reply = {
	readonly status: number;
	readonly headers: Headers;
	readonly text: string;
	readonly body: ReturnType<typeof JSON.parse>;
};

/** What is sent, as it stands: nothing of the path is tidied. */
export type Sent = {
	readonly method: string;
	readonly path: string;
	readonly headers: Readonly<Record<string, string>>;
	readonly body: Buffer | null;
};

/** Sends a request as it stands, and reads the answer to its end. A server may refuse and hang up while the body is still being sent. */
export async function sendAsIs(origin: string, agent: Agent, { method, path, headers, body }: Sent): Promise<Reply> {
	const { hostname, port } = new URL(origin);
	return await new Promise((resolve, reject) => {
		const length = body === null ? {} : { 'content-length': String(body.length) };
		const call = request({ hostname, port, agent, method, path, headers: { ...headers, ...length } });
		call.once('error', reject);
		call.once('response', (response) => {
			const chunks: Buffer[] = [];
			response.on('data', (chunk: Buffer) => chunks.push(chunk));
			response.once('error', reject);
			response.once('end', () => {
				const text = Buffer.concat(chunks).toString();
				const pairs = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]);
				resolve({ status: response.statusCode ?? 0, headers: new Headers(pairs), text, body: jsonOf(text) });
			});
		});
		call.end(body ?? undefined);
	});
}

function jsonOf(text: string): ReturnType<typeof JSON.parse> {
	if (text === '') return null;
	try {
		return JSON.parse(text);
	} catch {
		return { unreadable: text.slice(0, 200) };
	}
}
