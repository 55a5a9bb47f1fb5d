-- expand
-- The tables of the delivery core. Statuses are text with CHECKs; the legal moves between them stand in libs/model/src/states.
-- send_record and its companions have no unique key but the primary one and no foreign key, so that they can be partitioned by id later.

-- ── tenants, credentials, audit ──────────────────────────────────────────────────────────────────────────────────────
create table tenant (
  id          uuid primary key,
  name        text not null,
  -- PLATFORM is the operator's own tier: it owns the servers that tenants without one fall back to. There is exactly one.
  kind        text not null default 'TENANT' check (kind in ('TENANT', 'PLATFORM')),
  status      text not null default 'ACTIVE' check (status in ('ACTIVE', 'SUSPENDED', 'DELETING')),
  settings    jsonb not null default '{}',
  created_at  timestamptz not null default now(),
  updated_at  timestamptz not null default now()
);
create unique index tenant_one_platform on tenant (kind) where kind = 'PLATFORM';
create unique index tenant_name on tenant (name);

create table api_key (
  id             uuid primary key,
  tenant_id      uuid not null references tenant (id),
  -- The public part of the key, by which it is looked up; the secret is stored as SHA-256 only.
  key_id         text not null,
  secret_sha256  bytea not null check (length(secret_sha256) = 32),
  name           text not null,
  capabilities   text[] not null,
  created_at     timestamptz not null default now(),
  expires_at     timestamptz,
  revoked_at     timestamptz,
  last_used_at   timestamptz
);
create unique index api_key_key_id on api_key (key_id);
create index api_key_list on api_key (tenant_id, id desc);

create table audit_event (
  id            uuid primary key,
  tenant_id     uuid not null,
  at            timestamptz not null default now(),
  actor         text not null,
  action        text not null,
  subject_type  text not null,
  subject_id    uuid not null,
  detail        jsonb not null default '{}',
  trace_id      text
);
create index audit_event_list on audit_event (tenant_id, id desc);
create index audit_event_subject on audit_event (tenant_id, subject_id, id);

-- ── provider configs and their gates ─────────────────────────────────────────────────────────────────────────────────
create table mail_send_server_config (
  id                uuid primary key,
  tenant_id         uuid not null references tenant (id),
  name              text not null,
  host              text not null,
  port              integer not null check (port between 1 and 65535),
  security          text not null check (security in ('none', 'starttls', 'tls')),
  username          text,
  -- Sealed fields: kid.iv.ciphertext.tag (AES-256-GCM, AAD tenant|table|column|row). Never in clear.
  password_sealed   text,
  from_address      text not null,
  from_name         text,
  allowed_from      text[] not null,
  is_default        boolean not null default false,
  rate_per_minute   integer check (rate_per_minute > 0),
  daily_limit       integer check (daily_limit > 0),
  -- What to do when nobody knows whether a mail was accepted.
  on_ambiguous      text not null default 'resend' check (on_ambiguous in ('resend', 'hold')),
  dkim_domain       text,
  dkim_selector     text,
  dkim_key_sealed   text,
  active            boolean not null default true,
  -- Rises with each change; senders open a new pool when a claim shows a version they do not know.
  version           integer not null default 1,
  created_at        timestamptz not null default now(),
  updated_at        timestamptz not null default now(),
  check ((dkim_domain is null) = (dkim_selector is null) and (dkim_domain is null) = (dkim_key_sealed is null)),
  check (password_sealed is null or username is not null)
);
create unique index mail_send_server_config_name on mail_send_server_config (tenant_id, name);
create unique index mail_send_server_config_one_default on mail_send_server_config (tenant_id) where is_default;
create index mail_send_server_config_list on mail_send_server_config (tenant_id, id desc);

create table gate (
  -- The id of the provider config; a route's gate has an id of its own and names the route.
  id            uuid primary key,
  tenant_id     uuid not null,
  kind          text not null check (kind in ('CONFIG', 'ROUTE')),
  route         text,
  closed_until  timestamptz,
  reason        text check (reason in ('RATE', 'AUTH', 'CONFIG', 'UNREACHABLE', 'QUOTA', 'PAUSED')),
  detail        text,
  probe_at      timestamptz,
  version       integer not null default 0,
  changed_at    timestamptz not null default now(),
  check ((kind = 'ROUTE') = (route is not null)),
  check ((closed_until is null) = (reason is null))
);

-- ── records ──────────────────────────────────────────────────────────────────────────────────────────────────────────
-- Immutable facts of a message to deliver.
create table send_record (
  id                uuid primary key,
  tenant_id         uuid not null,
  channel           text not null check (channel in ('MAIL', 'SMS', 'LINE', 'INBOX')),
  type              text not null,
  scope             text not null check (scope in ('TENANT', 'PLATFORM')),
  lane              text not null check (lane in ('urgent', 'normal', 'bulk')),
  route             text not null,
  config_id         uuid,
  -- Whose config it is: the tenant's own or the platform's.
  config_tier       text check (config_tier in ('TENANT', 'PLATFORM')),
  flow_id           bigint,
  template_code     text,
  template_locale   text,
  template_version  integer,
  metadata          jsonb not null default '{}',
  trace_id          text not null,
  traceparent       text not null,
  notification_id   uuid,
  subject_key       text,
  dedupe_key        text,
  not_before        timestamptz,
  -- Only what the caller said; the default age lives in send_state.not_after.
  valid_until       timestamptz,
  created_at        timestamptz not null default now()
);
create index send_record_list on send_record (tenant_id, id desc);
create index send_record_metadata on send_record using gin (metadata jsonb_path_ops) where metadata <> '{}';
create index send_record_notification on send_record (tenant_id, notification_id, id) where notification_id is not null;

-- The narrow hot row: where a record stands. Only transition() in libs/db writes `status`.
create table send_state (
  id              uuid primary key,
  tenant_id       uuid not null,
  status          text not null check (status in ('PENDING', 'RETRY', 'SENDING', 'SENT', 'BOUNCED', 'FAILED', 'DEAD_LETTER', 'HELD', 'CANCELLED', 'EXPIRED', 'SKIPPED')),
  version         integer not null default 0,
  -- The fence: rises with each claim.
  attempt_no      integer not null default 0,
  budget_used     integer not null default 0,
  budget_max      integer not null,
  waits           integer not null default 0,
  quota_since     timestamptz,
  due_at          timestamptz,
  lease_until     timestamptz,
  claimed_at      timestamptz,
  claimed_by      text,
  -- What the config said about ambiguity when this attempt was claimed; the sweeper decides by it.
  hold            boolean not null default false,
  handed_over_at  timestamptz,
  not_after       timestamptz not null,
  partial         boolean not null default false,
  ambiguous       boolean not null default false,
  last_category   text check (last_category in ('TRANSIENT', 'QUOTA', 'UNKNOWN', 'PERMANENT', 'INVALID_INPUT', 'AUTH', 'CONFIG')),
  reason          text,
  sent_at         timestamptz,
  finished_at     timestamptz,
  check ((status in ('PENDING', 'RETRY')) = (due_at is not null)),
  check ((status = 'SENDING') = (lease_until is not null)),
  check ((status = 'SENDING') = (claimed_at is not null)),
  check ((status = 'SENDING') = (claimed_by is not null)),
  check (handed_over_at is null or status in ('SENDING', 'HELD')),
  check ((status in ('SENT', 'BOUNCED')) = (sent_at is not null)),
  check ((status in ('PENDING', 'RETRY', 'SENDING', 'HELD')) = (finished_at is null)),
  check (budget_used between 0 and budget_max),
  check (attempt_no >= 0 and version >= 0)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000000, autovacuum_vacuum_cost_delay = 0);
-- The expiry sweep. When a record is due, its outbox row knows; so the open records are indexed by the moment after which they are of no use.
create index send_state_too_late on send_state (not_after) where status in ('PENDING', 'RETRY');
-- The lease sweep.
create index send_state_lease on send_state (lease_until) where status = 'SENDING';

-- What is sent, rendered at acceptance. key_id names the key that seals these columns; null: they are in clear.
create table send_payload (
  id            uuid primary key,
  tenant_id     uuid not null,
  key_id        text,
  subject       text,
  body_text     text,
  body_html     text,
  from_address  text,
  from_name     text,
  reply_to      jsonb,
  headers       jsonb not null default '{}',
  attachments   integer not null default 0
);

create table send_recipient (
  id             uuid not null,
  n              integer not null,
  tenant_id      uuid not null,
  role           text not null check (role in ('to', 'cc', 'bcc')),
  address        text not null,
  name           text,
  address_hash   bytea not null,
  outcome        text not null default 'OPEN' check (outcome in ('OPEN', 'ACCEPTED', 'REFUSED', 'BOUNCED', 'DELIVERED')),
  category       text,
  stage          text,
  code           text,
  enhanced_code  text,
  answer         text,
  primary key (id, n)
);
create index send_recipient_address on send_recipient (tenant_id, address_hash, id desc);

create table attachment (
  id            uuid not null,
  n             integer not null,
  tenant_id     uuid not null,
  filename      text not null,
  content_type  text not null,
  content_id    text,
  bytes         integer not null,
  content       bytea not null,
  primary key (id, n)
);
alter table attachment alter column content set storage external;

-- One row per try at a provider, inserted at settle or by the sweeper.
create table delivery_attempt (
  id                   uuid not null,
  attempt_no           integer not null,
  try_no               integer not null default 1,
  tenant_id            uuid not null,
  config_id            uuid,
  provider             text not null,
  worker               text not null,
  published_at         timestamptz,
  started_at           timestamptz not null,
  finished_at          timestamptz not null default now(),
  outcome              text not null check (outcome in ('ACCEPTED', 'PARTIAL', 'REFUSED', 'AMBIGUOUS', 'UNKNOWN')),
  ambiguous            boolean not null default false,
  category             text,
  stage                text,
  code                 text,
  enhanced_code        text,
  answer               text,
  provider_message_id  text,
  primary key (id, attempt_no, try_no)
);

-- ── outbox ───────────────────────────────────────────────────────────────────────────────────────────────────────────
-- A ring of one row per (tenant, gate, lane, route), taken in turn by publishers.
create table flow (
  id         bigint generated always as identity primary key,
  tenant_id  uuid not null,
  gate       uuid not null,
  lane       text not null check (lane in ('urgent', 'normal', 'bulk')),
  route      text not null,
  -- When to look at it again; null: never looked for until something is appended.
  next_at    timestamptz,
  held       integer not null default 0,
  -- Upper bound of what is published and unclaimed.
  out_max    integer not null default 0
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create unique index flow_of on flow (tenant_id, gate, lane, route);
create index flow_gate on flow (gate);
create index flow_next on flow (lane, next_at) where next_at is not null;

create table outbox_entry (
  -- The id of the record it is about, so a record has at most one.
  id            uuid primary key,
  tenant_id     uuid not null,
  route         text not null,
  lane          text not null,
  gate          uuid not null,
  flow_id       bigint not null,
  status        text not null default 'NEW' check (status in ('NEW', 'PUBLISHING', 'PUBLISHED', 'DEAD')),
  -- In the hands of a publisher or the broker. Null for DEAD, which stands in neither index. A fact of its own, so that the mark stays a HOT update.
  taken         boolean default false,
  due_at        timestamptz not null,
  lease_until   timestamptz,
  published_at  timestamptz,
  refusals      integer not null default 0,
  heals         integer not null default 0,
  nacks         integer not null default 0,
  trace_id      text not null,
  traceparent   text not null,
  created_at    timestamptz not null default now(),
  check (taken is not distinct from case status when 'NEW' then false when 'DEAD' then null else true end),
  check ((status in ('PUBLISHING', 'PUBLISHED')) = (lease_until is not null)),
  check ((status = 'PUBLISHED') = (published_at is not null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000, autovacuum_vacuum_cost_delay = 0);
create index outbox_entry_waiting on outbox_entry (flow_id, due_at) where not taken;
create index outbox_entry_out on outbox_entry (flow_id) where taken;
create index outbox_entry_dead on outbox_entry (tenant_id, id desc) where taken is null;

-- ── what must be unique, each with its own retention ─────────────────────────────────────────────────────────────────
create table dedupe_key (
  tenant_id   uuid not null,
  -- {key}:{CHANNEL}:{sha256 of the addresses}
  key         text not null,
  record_id   uuid not null,
  created_at  timestamptz not null default now(),
  primary key (tenant_id, key)
);

create table idempotency_key (
  tenant_id    uuid not null,
  operation    text not null,
  key          text not null,
  body_sha256  bytea not null,
  response     jsonb not null,
  created_at   timestamptz not null default now(),
  primary key (tenant_id, operation, key)
);

create table dead_letter_message (
  id           uuid primary key,
  tenant_id    uuid not null,
  source       text not null check (source in ('SEND_EXHAUSTED', 'BROKER_POISON', 'AMBIGUOUS', 'EXPIRED', 'REPORT_FAILED')),
  status       text not null default 'PENDING' check (status in ('PENDING', 'RESOLVED', 'DISCARDED')),
  record_id    uuid,
  channel      text,
  type         text,
  category     text,
  error        text,
  -- A poison letter's origin and envelope.
  topic        text,
  message_id   text,
  envelope     jsonb,
  resolution   text,
  note         text,
  actor        text,
  created_at   timestamptz not null default now(),
  closed_at    timestamptz,
  check ((status = 'PENDING') = (closed_at is null)),
  check ((source = 'BROKER_POISON') = (topic is not null) and (topic is null) = (message_id is null))
);
create unique index dead_letter_one_pending on dead_letter_message (record_id) where status = 'PENDING';
create unique index dead_letter_poison on dead_letter_message (topic, message_id) where topic is not null;
create index dead_letter_list on dead_letter_message (tenant_id, id desc);
create index dead_letter_open on dead_letter_message (source, created_at) where status = 'PENDING';

-- A UUIDv7 (RFC 9562 §5.7), for rows that a statement makes by itself, such as dead letters.
create function uuid_v7() returns uuid language sql volatile parallel safe as $$
  select (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7' || substr(h, 14, 3) || substr(h, 17))::uuid
  from (select replace(gen_random_uuid()::text, '-', '') h) r
$$;
