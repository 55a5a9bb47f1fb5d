import { Type } from 'typebox';

const ADDRESS = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,253}";

/** Who is told of dead letters: what standalone reads too. */
export const ALERT_SETTINGS = {
	TIDINGS_ALERT_RECIPIENTS: Type.Optional(
		Type.String({
			description:
				"Whom to send a mail when there are new dead letters: at most one in 15 minutes for each cause, through the platform's own default mail server. Empty: nobody.",
			pattern: `^${ADDRESS}(, *${ADDRESS}){0,99}$`,
			form: 'mail addresses, at most 100, separated by commas',
		}),
	),
};

/** The addresses in `TIDINGS_ALERT_RECIPIENTS`, each once, domains in lower case. */
export function alertRecipients(settings: { readonly TIDINGS_ALERT_RECIPIENTS?: string | undefined }): string[] {
	const given = settings.TIDINGS_ALERT_RECIPIENTS?.split(',').map((one) => one.trim()) ?? [];
	const addresses = given.map((one) => one.slice(0, one.lastIndexOf('@')) + one.slice(one.lastIndexOf('@')).toLowerCase());
	return [...new Set(addresses)];
}
