// autocannon brings no types: these are of what we use.
declare module 'autocannon' {
	type Options = {
		readonly url: string;
		readonly method: 'POST';
		readonly headers: Readonly<Record<string, string>>;
		readonly body: string;
		readonly connections: number;
		/** Seconds. */
		readonly duration: number;
		readonly workers: number;
	};
	type Result = {
		readonly '2xx': number;
		readonly non2xx: number;
		readonly errors: number;
		readonly duration: number;
		readonly latency: { readonly p50: number; readonly p99: number };
	};
	export default function autocannon(options: Options): Promise<Result>;
}
