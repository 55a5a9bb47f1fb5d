/** The command that sends a first mail, to be copied. */
export function firstMail(api: string, apiKey: string): string {
	return [
		`curl -s ${api}/v1/mails \\`,
		`  -H 'Authorization: Bearer ${apiKey}' \\`,
		`  -H 'Content-Type: application/json' \\`,
		`  -d '{"to": ["ann@example.com"], "subject": "Hello from Tidings", "text": "It works."}'`,
	].join('\n');
}
