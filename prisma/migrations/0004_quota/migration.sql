-- expand
-- Monthly quota: how many messages of a channel are accepted for a tenant in a calendar month (UTC), and how many were.

-- What the operator has set for one tenant. Without a row the setting of the services holds; a cap that is null is none.
create table tenant_message_quota (
  tenant_id   uuid not null references tenant (id),
  channel     text not null check (channel in ('MAIL', 'SMS', 'LINE')),
  cap         bigint check (cap >= 0),
  updated_at  timestamptz not null default now(),
  primary key (tenant_id, channel)
);
-- Rises with each change of a tenant's quota; its ETag.
alter table tenant add column quota_version integer not null default 0;

-- What was accepted. A new month is a new row, and no row is ever reset. No foreign key: accepting waits for nobody who changes the tenant.
create table tenant_message_usage (
  -- Whose bucket it is: the tenant's, and the platform's own for messages of scope PLATFORM.
  tenant_id       uuid not null,
  channel         text not null check (channel in ('MAIL', 'SMS', 'LINE')),
  -- Its first day.
  month           date not null check (extract(day from month) = 1),
  used            bigint not null check (used >= 0),
  -- As it held when the last message was taken.
  cap             bigint,
  -- The last message that was taken, and the ones with which 80 and 100 % were reached: each is warned of once.
  last_record_id  uuid not null,
  warned80        uuid,
  warned100       uuid,
  primary key (tenant_id, channel, month),
  constraint tenant_message_usage_within_cap check (used <= cap)
) with (fillfactor = 50);
