import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { PrismaPg } from '@prisma/adapter-pg';
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils';

/** What we use of WebAssembly; its types come only with a browser's. */
declare const WebAssembly: {
	readonly Module: new (bytes: Uint8Array) => object;
	readonly Instance: new (
		module: object,
		imports: Readonly<Record<string, object>>,
	) => { readonly exports: Readonly<Record<string, unknown>> };
};

/** What we use of Prisma's schema engine, which is an inner part of Prisma without types of its own for this entrance. */
type EngineModule = {
	__wbg_set_wasm(exports: object): void;
	SchemaEngine: {
		new: (options: { datamodels: [string, string][] }, log: () => void, adapter: unknown) => Promise<SchemaEngine>;
	};
};
type SchemaEngine = { diff(options: unknown): Promise<{ stdout: string | null }> };

/** The SQL that makes an empty database into what `schema` (the text of a schema.prisma) describes. `url` is any database; nothing is written there. */
export async function diffSchema(schema: string, url: string): Promise<string> {
	loaded ??= loadEngine();
	const module = await loaded;
	const adapter = bindMigrationAwareSqlAdapterFactory(new PrismaPg({ connectionString: url }));
	const engine = await module.SchemaEngine.new({ datamodels: [['schema.prisma', schema]] }, () => undefined, adapter);
	const { stdout } = await engine.diff({
		from: { tag: 'empty' },
		to: { tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content: schema }] },
		script: true,
		exitCode: null,
		shadowDatabaseUrl: null,
		filters: { externalTables: [], externalEnums: [] },
	});
	if (stdout === null) throw new Error('the schema engine answered nothing');
	return stdout;
}

// The module keeps views of its memory, so a second instance of it would read the first one's.
let loaded: Promise<EngineModule> | undefined;

/** Node 20 cannot import a .wasm file, so the module is put together by hand. */
async function loadEngine(): Promise<EngineModule> {
	const path = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg');
	const module: EngineModule = await import(path);
	const compiled = new WebAssembly.Module(readFileSync(path.replace(/js$/, 'wasm')));
	const { exports } = new WebAssembly.Instance(compiled, { './schema_engine_bg.js': module });
	module.__wbg_set_wasm(exports);
	const start = exports['__wbindgen_start'];
	if (typeof start === 'function') start();
	return module;
}
