/** A name of dots alone would lead elsewhere in an URL. */
const NAMESPACE = /^(?!\.+\/)[-=:.\w]+\/(?!\.+$)[-=:.\w]+$/;

/** Tenant and namespace, such as `public/default`, as they stand in Pulsar's URLs. Throws a RangeError when they are not exactly two names that Pulsar allows. */
export function namespacePath(namespace: string): string {
	if (!NAMESPACE.test(namespace))
		throw new RangeError(`the namespace must be tenant/namespace, such as public/default, not ${JSON.stringify(namespace)}`);
	return namespace.split('/').map(encodeURIComponent).join('/');
}

/** The name that Pulsar gives a topic of a namespace: `persistent://tenant/namespace/topic`. */
export function fullTopicName(namespace: string, topic: string): string {
	return `persistent://${namespace}/${topic}`;
}

/**
 * Reads the address of a Pulsar server; a path prefix is kept, a slash at its end is not. Throws when it is no URL of one of `schemes`, holds a user or password, a query or a fragment.
 * The text repeats nothing of the URL, for it may hold a secret; `what` names it instead.
 */
export function pulsarUrl(text: string, schemes: readonly string[], what: string): string {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	const expected = schemes.map((scheme) => `${scheme}//host:port`).join(' or ');
	if (url === undefined || !schemes.includes(url.protocol) || url.hostname === '') throw new Error(`${what} must look like ${expected}`);
	if (url.username !== '' || url.password !== '')
		throw new Error(`${what} must hold no user and no password; a token is a setting of its own`);
	if (url.search !== '' || url.hash !== '') throw new Error(`${what} must hold no query and no fragment; a token is a setting of its own`);
	return `${url.protocol}//${url.host}${url.pathname.replace(/\/+$/, '')}`;
}
