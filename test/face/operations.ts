import { newId } from '@tidings/model';
import type { TestApi } from '../harness/api.js';

/** A parameter of an operation. */
export type Parameter = { readonly name: string; readonly in: 'query' | 'path' | 'header'; readonly schema: Record<string, unknown> };

/** An operation as the document describes it. */
export type Documented = {
	readonly operationId: string;
	readonly method: string;
	readonly path: string;
	readonly description: string;
	readonly parameters: readonly Parameter[];
	/** The schema of its body; null: it has none. */
	readonly schema: Record<string, unknown> | null;
	readonly example: unknown;
	readonly bodyRequired: boolean;
	/** Whether it changes something of which the caller says what it has seen. */
	readonly guarded: boolean;
};

/** The whole document, as far as a caller reads it. */
export type Face = { readonly operations: readonly Documented[]; readonly schemas: Readonly<Record<string, Record<string, unknown>>> };

type Raw = {
	operationId: string;
	description: string;
	parameters?: Parameter[];
	requestBody?: { required?: boolean; content: Record<string, { schema: Record<string, unknown>; example: unknown }> };
	responses: Record<string, unknown>;
};

/** Reads the document that an API serves. */
export async function readFace(api: TestApi): Promise<Face> {
	const { body } = await api.call('/openapi.json', { key: null });
	const operations = Object.entries<Record<string, Raw>>(body.paths).flatMap(([path, methods]) =>
		Object.entries(methods).map(([method, one]): Documented => {
			const [media] = Object.values(one.requestBody?.content ?? {});
			return {
				operationId: one.operationId,
				method: method.toUpperCase(),
				path,
				description: one.description,
				parameters: one.parameters ?? [],
				schema: media?.schema ?? null,
				example: media?.example,
				bodyRequired: one.requestBody?.required === true,
				guarded: '428' in one.responses,
			};
		}),
	);
	return { operations, schemas: body.components.schemas };
}

/** The example of an operation as a body that can be sent more than once: a name that is unique is new each time. */
export function freshExample({ operationId, example }: Documented): unknown {
	return ['createTenant', 'createMailServer'].includes(operationId) ? { ...(example as object), name: newId() } : example;
}
