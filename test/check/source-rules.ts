import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import ts from 'typescript';

/** The product's own sources: libs/ and services/, without tests and generated code. Paths are relative to the root. */
function productFiles(root: string): string[] {
	return sourceFiles(root).filter((file) => /^(libs|services)\//.test(file) && !file.endsWith('.test.ts'));
}

/** Every TypeScript file that people wrote, tests too. */
function sourceFiles(root: string): string[] {
	const walk = (folder: string): string[] =>
		readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
			if (entry.isDirectory()) return ['node_modules', 'dist', 'generated'].includes(entry.name) ? [] : walk(join(folder, entry.name));
			return entry.name.endsWith('.ts') ? [relative(root, join(folder, entry.name))] : [];
		});
	return ['libs', 'services', 'test'].flatMap((folder) => walk(join(root, folder)));
}

/** Calls `visit` with every node of the files and collects what it says, each with its place. */
function findIn(root: string, files: readonly string[], visit: (node: ts.Node) => string | null): string[] {
	return files.flatMap((file) => {
		const source = ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.ES2022, true);
		const found: string[] = [];
		const walk = (node: ts.Node): void => {
			const fault = visit(node);
			if (fault !== null) found.push(`${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}  ${fault}`);
			ts.forEachChild(node, walk);
		};
		walk(source);
		return found;
	});
}

/** Places outside transition.ts that change a status column, in SQL text or through Prisma. A new row's first status is no change. */
export function findStatusWriters(root: string): string[] {
	const files = productFiles(root).filter((file) => file !== 'libs/db/src/transition.ts');
	return findIn(root, files, (node) => {
		if (setsStatus(sqlOf(node))) return 'SQL sets `status`: embed what transition.ts builds';
		if (ts.isCallExpression(node) && updatesStatus(node)) return 'Prisma updates `status`: use transition()';
		return null;
	});
}

/** The text of a literal; what is put into a template stands as `?`. */
function sqlOf(node: ts.Node): string {
	if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
	if (!ts.isTemplateExpression(node)) return '';
	return node.head.text + node.templateSpans.map((span) => `?${span.literal.text}`).join('');
}

/** Whether an assignment list (`set …` up to where, from, returning or the end of its brackets) names the column. */
function setsStatus(sql: string): boolean {
	const text = sql.replace(/--.*$/gm, '').toLowerCase();
	return [...text.matchAll(/\bset\b/g)].some((match) => {
		let depth = 0;
		for (const token of text
			.slice(match.index + 3)
			.matchAll(/[()]|;|\b(?:where|from|returning)\b|(?:"?status"?)(?=\s*(?:=|,[^=]*\)\s*=|\)\s*=))/g)) {
			if (token[0] === '(') depth++;
			else if (token[0] === ')') depth--;
			else if (token[0].includes('status')) {
				const before = text.slice(0, match.index + 3 + token.index);
				if (depth === 0 || (depth === 1 && /\bset\s*\([^()]*$/.test(before))) return true;
			} else if (depth === 0) return false;
			if (depth < 0) return false;
		}
		return false;
	});
}

function updatesStatus(call: ts.CallExpression): boolean {
	if (!ts.isPropertyAccessExpression(call.expression)) return false;
	if (!/^(update|updateMany|updateManyAndReturn|upsert)$/.test(call.expression.name.text)) return false;
	const [options] = call.arguments;
	return options !== undefined && ['data', 'update'].some((key) => propertyOf(propertyOf(options, key), 'status') !== undefined);
}

function propertyOf(node: ts.Node | undefined, name: string): ts.Node | undefined {
	if (node === undefined || !ts.isObjectLiteralExpression(node)) return undefined;
	const property = node.properties.find((one) => one.name !== undefined && one.name.getText().replace(/['"]/g, '') === name);
	return property !== undefined && ts.isPropertyAssignment(property) ? property.initializer : property;
}

/** Places that read the environment outside a config.ts or a command's main file. */
export function findEnvironmentReaders(root: string): string[] {
	const files = productFiles(root).filter((file) => !/^(config|main|.*-main)\.ts$/.test(basename(file)));
	return findIn(root, files, (node) => {
		const dotted = ts.isPropertyAccessExpression(node) && node.getText() === 'process.env';
		const imported =
			ts.isImportDeclaration(node) && /\bprocess['"]$/.test(node.moduleSpecifier.getText()) && /\benv\b/.test(node.getText());
		return dotted || imported ? 'reads the environment: declare a setting in config.ts' : null;
	});
}

const CLOCKS = /^(Date\.now|Math\.random|performance\.now|process\.hrtime(\.bigint)?|(crypto\.)?randomUUID)$/;

/** Places that take the time or chance from elsewhere than the model's clock and ids. */
export function findForeignClocks(root: string): string[] {
	const files = productFiles(root).filter((file) => !/^libs\/model\/src\/(clock|ids)\.ts$/.test(file));
	return findIn(root, files, (node) => {
		if (ts.isCallExpression(node) && CLOCKS.test(node.expression.getText()))
			return `calls ${node.expression.getText()}: use the model's clock and ids`;
		const now = ts.isNewExpression(node) && node.expression.getText() === 'Date' && (node.arguments?.length ?? 0) === 0;
		return now ? "calls new Date(): use the model's now()" : null;
	});
}

/** Files of more than 300 lines and functions of more than 60 (tests not counted), the longest first: a second act may be inside. */
export function findLongCode(root: string): string[] {
	const files = sourceFiles(root)
		.map((file) => ({ file, lines: readFileSync(join(root, file), 'utf8').split('\n').length - 1 }))
		.filter(({ lines }) => lines > 300)
		.sort((a, b) => b.lines - a.lines)
		.map(({ file, lines }) => `${file} has ${lines} lines`);
	const functions = findIn(root, productFiles(root), (node) => {
		if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return null;
		const lines = node.getText().split('\n').length;
		return lines > 60 ? `${nameOf(node)} has ${lines} lines` : null;
	});
	return [...files, ...functions];
}

function nameOf(node: ts.SignatureDeclaration): string {
	const named = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined);
	return named?.getText() ?? 'a function';
}
