-- expand
-- no-transaction
-- Outbox entries that keep their place and may not be published yet: what is too large for the rest of a rate window waits for the next one, before what came after it.

alter table outbox_entry add column if not exists held_until timestamptz;
create index if not exists outbox_entry_held on outbox_entry (flow_id, held_until) where held_until is not null;
