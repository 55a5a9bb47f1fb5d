import { createHmac } from 'node:crypto';

/** A token (JWT, HS256) for a role of a Pulsar broker that knows `secret`; it never expires unless `expiresInSeconds` says when (0 or less: it has expired). */
export function signPulsarToken(secret: Buffer, role: string, expiresInSeconds?: number): string {
	const claims = { sub: role, ...(expiresInSeconds === undefined ? {} : { exp: Math.floor(Date.now() / 1_000) + expiresInSeconds }) };
	const signed = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
	return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}
