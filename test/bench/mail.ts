/** A mail of about 2 KB of HTML, each a little different. */
export function mailOf(n: number): { subject: string; html: string } {
	return {
		subject: `Your order A-${n} is on its way`,
		html: `<html><body><h1>Order A-${n}</h1>${'<p>Thank you. It leaves our house today &amp; reaches you soon.</p>'.repeat(30)}</body></html>`,
	};
}
