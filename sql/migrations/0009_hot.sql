-- Whoever has read anything is waited for, and whoever waits has read nothing yet.
lock table tock.queues, tock.epochs, tock.duties, tock.streams, tock.leases, tock.runs, tock.results, tock.marks, tock.waiting,
  tock.promotions, tock.requests, tock.keys in access exclusive mode;

-- PostgreSQL reads the text of each check anew for each statement that writes the table: on leases that was
-- a fifth of a claim and half of a completion (ARCHITECTURE.md). The partitions' bounds say the same as the
-- checks of epochs.
alter table tock.leases drop constraint lease_is_a_range, drop constraint empty_lease_is_closed,
  drop constraint closed_lease_has_outcome, drop constraint outcome_is_known;

do $$
declare
  v_check record;
begin
  for v_check in
    select c.conrelid::regclass as leaf, c.conname from pg_constraint c
    where c.contype = 'c' and c.connamespace = 'tock'::regnamespace and c.conname ~ '^(runs|leases|results|marks)_\d+_epoch$'
  loop
    execute format('alter table %s drop constraint %I', v_check.leaf, v_check.conname);
  end loop;
end $$;

-- What a claim sees before it draws: the epoch in use, whether something that waits is due, and streams.
create type tock.look as (epoch integer, due boolean, streams tock.candidate[]);

-- What claim() returns for a run.
create type tock.claimed as (
  lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer, max_attempts integer,
  priority integer, tenant text, created_at timestamptz, payload jsonb);
drop function if exists tock.claim(text, text, integer, integer, text, boolean);
