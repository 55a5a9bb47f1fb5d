import { ERRORS, type ErrorRow, FAULTS, PROBLEM_BASE } from '@tidings/model';

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

| code | status | title | retry |
|---|---|---|---|
${overview.join('\n')}

## What each means

${paragraphs.join('\n\n')}

## Faults inside a request

\`invalid-request\` lists every fault at once in \`errors\`: \`pointer\` (a JSON Pointer into the body), \`code\` and \`detail\`.

| code | meaning |
|---|---|
${faults.join('\n')}
`;
}
