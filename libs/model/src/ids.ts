import { v7, validate } from 'uuid';

/** A new id: UUIDv7, so that ids sort by the time they were made. Within one process each is greater than the last. */
export function newId(): string {
	return v7();
}

/** Whether a text is a UUID of any version. */
export function isUuid(text: string): boolean {
	return validate(text);
}

/** The smallest UUIDv7 of a moment: `id >= idAt(t)` means "made at t or later". */
export function idAt(time: Date): string {
	const hex = Math.max(0, time.getTime()).toString(16).padStart(12, '0');
	return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7000-8000-000000000000`;
}

const POOL_BYTES = 4_096;
let pool = new Uint8Array(0);
let used = 0;

/** `bytes` random bytes from the platform's secure source, drawn in larger portions, for each draw has its price. No byte is given out twice. */
export function randomBytes(bytes: number): Uint8Array {
	if (used + bytes > pool.length) {
		pool = globalThis.crypto.getRandomValues(new Uint8Array(Math.max(POOL_BYTES, bytes)));
		used = 0;
	}
	used += bytes;
	return pool.slice(used - bytes, used);
}

/** A random number in [0, 1), for jitter. */
export function random(): number {
	return Math.random();
}
