-- expand
-- What the whole face of message-api needs: tenants that are suspended and deleted, and changed by whoever has seen what they change.

-- Rises with each change; the ETag of a tenant.
alter table tenant add column version integer not null default 1;
alter table tenant drop constraint tenant_status_check;
alter table tenant add constraint tenant_status_check check (status in ('ACTIVE', 'SUSPENDED', 'DELETING', 'DELETED'));
-- The name of a deleted tenant is free again.
drop index tenant_name;
create unique index tenant_name on tenant (name) where status <> 'DELETED';
create index tenant_deleting on tenant (id) where status = 'DELETING';

-- What becomes of what waits while a tenant is DELETING: it is delivered, or cancelled.
alter table tenant add column queued text check (queued in ('deliver', 'cancel'));
alter table tenant add constraint tenant_queued_of_deleting check ((status = 'DELETING') = (queued is not null));
-- When its status changed last: nothing is erased before every node has heard of it.
alter table tenant add column moved_at timestamptz not null default now();
-- Since when it is being erased: from then on there is no way back.
alter table tenant add column erasing_at timestamptz;
alter table tenant add constraint tenant_erasing_only_deleting check (erasing_at is null or status = 'DELETING');
-- Whose mail is neither published nor claimed: read by each take and each claim, and mostly empty.
create index tenant_halted on tenant (id) where status = 'SUSPENDED' or queued = 'cancel';

-- The key that took the place of this one when it was rotated: each is followed by one at most.
alter table api_key add column replaced_by uuid;
