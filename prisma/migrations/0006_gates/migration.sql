-- expand
-- no-transaction
-- Gates that close by themselves, are probed, and open half at first.

-- half_open: the gate is not closed (any more), but only one message at a time goes through until one has shown that the provider works; trial_until is the lease of that one.
alter table gate add column if not exists half_open boolean not null default false;
alter table gate add column if not exists trial_until timestamptz;
-- Closings and failed probes in a row: the next probe waits longer with each.
alter table gate add column if not exists failures integer not null default 0;
-- The provider's newest no, for people: {at, recordId, category, stage, code, enhancedCode, text}.
alter table gate add column if not exists last_error jsonb;

create index if not exists gate_probe on gate (probe_at) where probe_at is not null;
create unique index if not exists gate_route on gate (route) where route is not null;
