import type { Machine } from './machine.js';

/** Every state of a tenant. */
export const TENANT_STATUSES = ['ACTIVE', 'SUSPENDED', 'DELETING', 'DELETED'] as const;
export type TenantStatus = (typeof TENANT_STATUSES)[number];

/** What may move a tenant. */
export type TenantAct =
	| 'suspend' // the operator: it takes no messages, and nothing of it goes out
	| 'resume' // the operator: as before
	| 'delete' // the operator: it takes no messages, and is erased when nothing waits any more
	| 'erase'; // nothing of it is left

/** The state table of a tenant. The platform's own tenant never moves. */
export const tenantMachine: Machine<TenantStatus, TenantAct> = {
	name: 'tenant',
	states: TENANT_STATUSES,
	moves: [
		{ act: 'suspend', from: 'ACTIVE', to: 'SUSPENDED' },
		{ act: 'resume', from: 'SUSPENDED', to: 'ACTIVE' },
		{ act: 'resume', from: 'DELETING', to: 'ACTIVE' },
		{ act: 'delete', from: 'ACTIVE', to: 'DELETING' },
		{ act: 'delete', from: 'SUSPENDED', to: 'DELETING' },
		{ act: 'erase', from: 'DELETING', to: 'DELETED' },
	],
};
