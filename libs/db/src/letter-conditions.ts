import { idAt } from '@tidings/model';

/** Which letters are wanted; what is absent does not filter. */
export type LetterFilter = {
	readonly status?: string;
	readonly source?: string;
	readonly channel?: string;
	readonly category?: string;
	readonly type?: string;
	/** Stands somewhere in the error or the type, in whatever case. */
	readonly text?: string;
	/** At this time or later. */
	readonly createdAfter?: Date;
	/** Before this time. */
	readonly createdBefore?: Date;
	/** Letters older than this one. */
	readonly before?: string;
	/** Letters newer than this one. */
	readonly after?: string;
};

/** A letter's id is made when its statement runs, its time is that of the transaction's begin: they differ by this much at most. */
const SLACK_MS = 3_600_000;

/** Conditions on rows of dead_letter_message and the values of their parameters; more may be added. */
export type LetterConditions = {
	readonly values: unknown[];
	/** Adds a value, and a condition on it unless the value is undefined. */
	where(value: unknown, condition: (parameter: string) => string): void;
	/** All of them, joined by `and`. */
	text(): string;
};

/** The conditions of a filter on a tenant's letters, of which `row` is the alias. */
export function letterConditions(tenantId: string, filter: LetterFilter, row: string): LetterConditions {
	return conditionsOf(tenantId, filter, {
		row,
		tenant: `${row}.tenant_id = $1::uuid`,
		id: (compared) => `${row}.id ${compared}`,
		other: (condition) => condition,
	});
}

/**
 * The same for a walk through dead_letter_pending, `order by tenant_id, id`, of a filter that says PENDING. No other index can serve what is written so: statistics that are older than a flood of letters
 * would have the planner walk those of all tenants, by the primary key or dead_letter_open.
 */
export function walkConditions(tenantId: string, filter: LetterFilter, row: string): LetterConditions {
	return conditionsOf(tenantId, filter, {
		row,
		tenant: `${row}.tenant_id >= $1::uuid and ${row}.tenant_id <= $1::uuid`,
		id: (compared) => {
			const [operator, parameter] = compared.split(' ');
			return `(${row}.tenant_id, ${row}.id) ${operator} ($1::uuid, ${parameter})`;
		},
		// As selective as before to the planner, and of no use to an index.
		other: (condition) => `(${condition}) is true`,
	});
}

/** How the columns are written that indexes begin with. */
type Form = {
	readonly row: string;
	readonly tenant: string;
	/** `compared`: an operator and a parameter. */
	readonly id: (compared: string) => string;
	/** A condition on another column that an index has. */
	readonly other: (condition: string) => string;
};

function conditionsOf(tenantId: string, filter: LetterFilter, { row, tenant, id, other }: Form): LetterConditions {
	const values: unknown[] = [tenantId];
	const conditions = [tenant];
	const where: LetterConditions['where'] = (value, condition) => {
		if (value === undefined) return;
		values.push(value);
		conditions.push(condition(`$${values.length}`));
	};
	where(filter.before, (p) => id(`< ${p}::uuid`));
	where(filter.after, (p) => id(`> ${p}::uuid`));
	where(filter.status, (p) => `${row}.status = ${p}`);
	where(filter.source, (p) => other(`${row}.source = ${p}`));
	where(filter.channel, (p) => `${row}.channel = ${p}`);
	where(filter.category, (p) => `${row}.category = ${p}`);
	where(filter.type, (p) => `${row}.type = ${p}`);
	where(filter.text && `%${filter.text.replaceAll(/[\\%_]/g, '\\$&')}%`, (p) => `(${row}.error ilike ${p} or ${row}.type ilike ${p})`);
	where(filter.createdAfter, (p) => other(`${row}.created_at >= ${p}::timestamptz`));
	where(filter.createdAfter && idAt(new Date(filter.createdAfter.getTime() - SLACK_MS)), (p) => id(`>= ${p}::uuid`));
	where(filter.createdBefore, (p) => other(`${row}.created_at < ${p}::timestamptz`));
	where(filter.createdBefore && idAt(new Date(filter.createdBefore.getTime() + SLACK_MS)), (p) => id(`< ${p}::uuid`));
	return { values, where, text: () => conditions.join(' and ') };
}
