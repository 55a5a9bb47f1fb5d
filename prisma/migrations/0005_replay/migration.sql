-- expand
-- no-transaction
-- Replays of many dead letters, worked off by the dead-letter service, and what operators were told about letters.

-- What is to be replayed is fixed at the start: letters that are open and were written before created_at, in the order of their ids. `last_id` is the newest that is done:
-- it moves in the transaction that replays, so that each letter has its turn once, also after a crash.
create table if not exists dead_letter_replay (
  id               uuid primary key,
  tenant_id        uuid not null,
  status           text not null default 'RUNNING' check (status in ('RUNNING', 'DONE', 'STOPPED', 'FAILED')),
  filter           jsonb,
  letter_ids       uuid[],
  rate_per_second  integer not null check (rate_per_second between 1 and 1000),
  note             text,
  actor            text not null,
  trace_id         text not null,
  last_id          uuid,
  matched          integer not null,
  replayed         integer not null default 0,
  refused          integer not null default 0,
  failed           integer not null default 0,
  -- Reason → how many letters.
  refusals         jsonb not null default '{}',
  -- Some letters that were not replayed, and why.
  sample           jsonb not null default '[]',
  error            text,
  -- When its next letters have their turn: the rate.
  next_at          timestamptz not null default now(),
  created_at       timestamptz not null default now(),
  finished_at      timestamptz,
  check ((filter is null) <> (letter_ids is null)),
  check ((status = 'RUNNING') = (finished_at is null)),
  check ((status = 'FAILED') = (error is not null))
);
create index if not exists dead_letter_replay_list on dead_letter_replay (tenant_id, id desc);
create index if not exists dead_letter_replay_running on dead_letter_replay (next_at) where status = 'RUNNING';

-- The operator's own: one row for each cause that was ever told. `untold_from` is set while a mail about what came up to told_until is still to be accepted.
create table if not exists dead_letter_alert (
  source       text not null,
  -- Empty: none.
  category     text not null,
  told_until   timestamptz not null,
  alerted_at   timestamptz not null,
  untold_from  timestamptz,
  primary key (source, category)
);

-- Open letters of a tenant in the order in which a replay takes them.
drop index concurrently if exists dead_letter_pending;
create index concurrently dead_letter_pending on dead_letter_message (tenant_id, id) where status = 'PENDING';
