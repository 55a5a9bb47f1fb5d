import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import ts from 'typescript';

const HERE = import.meta.dirname;

/** Where the optional package is; undefined when it was left out of this installation. */
function findPackage(): string | undefined {
	try {
		return dirname(createRequire(import.meta.url).resolve('pulsar-client/package.json'));
	} catch {
		return undefined;
	}
}

/** The lines that the compiler finds fault with in a module beside this file, which does not exist on the disk. */
function faultyLines(source: string): number[] {
	const file = join(HERE, 'compared-types.ts');
	const options: ts.CompilerOptions = {
		strict: true,
		exactOptionalPropertyTypes: true,
		module: ts.ModuleKind.NodeNext,
		target: ts.ScriptTarget.ES2022,
		lib: ['lib.es2023.d.ts'],
		types: ['node'],
		noEmit: true,
		skipLibCheck: true,
	};
	const host = ts.createCompilerHost(options);
	const { fileExists, readFile, getSourceFile } = host;
	host.fileExists = (name) => name === file || fileExists(name);
	host.readFile = (name) => (name === file ? source : readFile(name));
	host.getSourceFile = (name, version, ...rest) =>
		name === file ? ts.createSourceFile(name, source, version) : getSourceFile(name, version, ...rest);
	return ts
		.getPreEmitDiagnostics(ts.createProgram([file], options, host))
		.map(({ file: of, start = 0 }) => (of?.fileName === file ? of.getLineAndCharacterOfPosition(start).line : -1));
}

const installed = findPackage() !== undefined;
const compared = installed ? test : test.skip;

compared(
	`the package's own types fit those that the driver uses${installed ? '' : ': not run, pulsar-client is not installed'}`,
	() => {
		const lines = [
			"import type { PulsarModule } from './client-types.js';",
			"import * as pulsar from 'pulsar-client';",
			'export const fits: PulsarModule = pulsar;',
			'export const doesNot: PulsarModule & { readonly Client: { new (config: number): { close(): number } } } = pulsar;',
		];
		expect(faultyLines(lines.join('\n'))).toEqual([3]);
	},
	60_000,
);
