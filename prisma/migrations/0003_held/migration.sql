-- expand
-- no-transaction
-- Messages that wait for a person, few at any time: a mail server is not deleted under them. Nobody who sends or accepts waits while it is built.
drop index concurrently if exists send_state_held;
create index concurrently send_state_held on send_state (tenant_id, id) where status = 'HELD';
