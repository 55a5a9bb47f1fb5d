import { ERRORS, type ErrorRow, FAULTS, PROBLEM_BASE } from '@tidings/model';

const EXAMPLE = {
	type: `${PROBLEM_BASE}invalid-request`,
	title: ERRORS['invalid-request'].title,
	status: ERRORS['invalid-request'].status,
	detail: 'The request has 2 faults. Nothing was written.',
	instance: '/v1/mails',
	code: 'invalid-request',
	traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
	errors: [
		{ pointer: '/to/0', code: 'bad-address', detail: 'This is not one plain mail address.' },
		{ pointer: '/subjct', code: 'unknown-field', detail: 'There is no such field here.' },
	],
};

/** The page of every problem code and every fault inside a request. */
export function describeErrors(): string {
	const rows = Object.entries<ErrorRow>(ERRORS);
	const overview = rows.map(
		([code, row]) => `| [\`${code}\`](#${code}) | ${row.status} | ${row.title} | ${row.retryable ? 'yes' : 'no'} |`,
	);
	const paragraphs = rows.map(([code, row]) => `### ${code}\n\n${row.status} · ${row.title}\n\n${row.help}`);
	const faults = Object.entries(FAULTS).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`);
	return `# Errors

Every refusal is \`application/problem+json\` (RFC 9457). Its \`type\` is \`${PROBLEM_BASE}<code>\`. *Retry* says whether the same request can succeed
later without being changed.

\`\`\`json
${JSON.stringify(EXAMPLE, null, 2)}
\`\`\`

A program decides by \`code\`; \`title\` and \`detail\` are for people and may change. \`errors\` is there always, and empty where the refusal is not about fields of the body.
\`traceId\` finds the request in logs and traces: quote it when you ask for help. A path that does not exist, or has no such method, is answered in the same form.

| code | status | title | retry |
|---|---|---|---|
${overview.join('\n')}

## What each means

${paragraphs.join('\n\n')}

## Faults inside a request

\`invalid-request\` lists every fault at once in \`errors\`: \`pointer\` (a JSON Pointer into the body), \`code\` and \`detail\`.

| code | meaning, and what to do |
|---|---|
${faults.join('\n')}
`;
}
