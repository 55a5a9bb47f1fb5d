import { deadLetterMachine, type Machine, outboxMachine, replayMachine, sendRecordMachine, tenantMachine } from '@tidings/model';

/**
 * SQL of the test triggers: they raise when an update makes a move that no state table knows. Where a table counts versions, a changed status or
 * version must be a legal pair and exactly one version more. An update that leaves both as they are is no move.
 * A test that needs an illegal state as its beginning writes it under `set local session_replication_role = replica`.
 */
export function triggerSql(): string {
	return [
		trigger(sendRecordMachine, true),
		trigger(outboxMachine, false),
		trigger(deadLetterMachine, false),
		trigger(replayMachine, false),
		trigger(tenantMachine, false),
	].join('\n');
}

function trigger(machine: Machine<string, string>, versioned: boolean): string {
	const table = machine.name;
	const pairs = [...new Set(machine.moves.map((move) => `('${move.from}', '${move.to}')`))].join(', ');
	const moved = versioned
		? '(new.status, new.version) is distinct from (old.status, old.version)'
		: 'new.status is distinct from old.status';
	const count = `
		if new.version <> old.version + 1 then
			raise exception '${table} %: version % to % on the way from % to %', old.id, old.version, new.version, old.status, new.status;
		end if;`;
	return `
create or replace function test_${table}_moves() returns trigger language plpgsql as $$
begin
	if ${moved} then
		if (old.status, new.status) not in (${pairs}) then
			raise exception '${table} %: no move leads from % to %', old.id, old.status, new.status;
		end if;${versioned ? count : ''}
	end if;
	return new;
end $$;
create or replace trigger test_${table}_moves before update on ${table} for each row execute function test_${table}_moves();`;
}
