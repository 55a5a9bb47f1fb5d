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
