-- Whoever ends a run doesn't see a mark that isn't committed yet, and goes on with another run. So an end that is
-- under way is waited for, up to 2 s in all; one that begins later sees the mark, or is told that somebody is
-- cancelling. What is locked for that is let go at once. p_ids: runs that were just marked.
create or replace function tock.await_ends(p_ids bigint[])
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_until timestamptz := pg_catalog.clock_timestamp() + interval '2 seconds';
  v_epoch tock.epochs;
  v_leases tid[];
  v_free tid[];
  v_lease tid;
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    return;
  end if;
  for v_epoch in
    select e.* from tock.epochs e
    where e.end_position > (select min(i >> 20) from unnest(p_ids) i)
      and e.first_position <= (select max(i >> 20) from unnest(p_ids) i)
  loop
    execute pg_catalog.format($q$
      select array(
        select distinct l.ctid from unnest($1) i (id)
        cross join lateral (
          select k.ctid, k.last_position, k.closed_at from tock.leases_%s k
          where k.stream = (i.id & 1048575)::integer and k.after_position < i.id >> 20
          order by k.stream desc, k.after_position desc limit 1) l
        where l.last_position >= i.id >> 20 and l.closed_at is null)$q$, v_epoch.number) into v_leases using p_ids;
    continue when pg_catalog.cardinality(v_leases) = 0;
    begin
      execute pg_catalog.format($q$
        select array(select l.ctid from tock.leases_%s l where l.ctid = any ($1) for no key update skip locked)$q$,
        v_epoch.number) into v_free using v_leases;
      raise exception using errcode = 'TK001';
    exception
      when sqlstate 'TK001' then null;
    end;
    foreach v_lease in array v_leases loop
      continue when v_lease = any (v_free) or pg_catalog.clock_timestamp() > v_until;
      begin
        execute pg_catalog.format('select from tock.leases_%s l where l.ctid = $1 for no key update', v_epoch.number)
          using v_lease;
        raise exception using errcode = 'TK001';
      exception
        when sqlstate 'TK001' or lock_not_available then null;
      end;
    end loop;
  end loop;
end $$;

comment on function tock.await_ends is 'Waits for whoever is just ending these runs, as far as that is a matter of moments.';

create or replace function tock.wish_key(p_queue text)
returns integer
language sql
immutable
as $$
  select 1610612736 + (pg_catalog.hashtext(p_queue) & 255)
$$;

comment on function tock.wish_key is 'Second key of the lock that says that somebody is cancelling tasks of a queue, or of one that shares it.';

-- Tried and let go of at once; another one who tries at the same moment is not meant. (An SQLSTATE that ends
-- in 000 would stand for its whole class.)
create or replace function tock.is_being_cancelled(p_queues text[])
returns boolean
language plpgsql
volatile
as $$
begin
  for v_try in 1 .. 3 loop
    begin
      if not exists (
        select from (select distinct tock.wish_key(q) as key from unnest(p_queues) q) k
        where not pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), k.key))
      then
        raise exception using errcode = 'TK001';
      end if;
      raise exception using errcode = 'TK002';
    exception
      when sqlstate 'TK001' then return false;
      when sqlstate 'TK002' then null;
    end;
  end loop;
  return true;
end $$;

comment on function tock.is_being_cancelled is 'Whether another transaction, not yet ended, is cancelling tasks of one of these queues.';

create or replace function tock.cancelled_tasks(p_ids bigint[])
returns bigint[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_epoch tock.epochs;
  v_part bigint[];
  v_cancelled bigint[] := '{}';
begin
  for v_epoch in
    select e.* from tock.epochs e
    where e.end_position > (select min(i >> 20) from unnest(p_ids) i)
      and e.first_position <= (select max(i >> 20) from unnest(p_ids) i)
  loop
    execute pg_catalog.format($q$
      select array(
        select i.id from unnest($1) i (id)
        where (select m.position from tock.marks_%s m
          where m.stream = (i.id & 1048575)::integer and m.position = i.id >> 20 and m.kind = 'cancelled') is not null)$q$,
      v_epoch.number) into v_part using p_ids;
    v_cancelled := v_cancelled || v_part;
  end loop;
  return v_cancelled;
end $$;

comment on function tock.cancelled_tasks is 'Which of these tasks somebody has cancelled while a later run of theirs, or a first one, was there.';

-- A change that came after its run had started holds for the next attempt, as if it had found it running.
create or replace function tock.meant_instead(p_id bigint)
returns tock.waiting
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_id bigint := p_id;
  v_run tock.found_run;
  v_meant tock.waiting;
begin
  while v_id > 0 loop
    v_run := tock.run_at(v_id);
    if v_run.id is not null then
      v_meant.payload := v_run.payload;
      v_meant.priority := v_run.priority;
      v_meant.position := v_id >> 20;
      v_meant.bytes := coalesce(pg_catalog.octet_length(v_run.payload::text), 0);
      v_id := v_run.next_id;
    else
      select w.* into v_meant from tock.waiting w where w.position = v_id >> 20;
      v_id := (select p.run_id from tock.promotions p where p.position = v_id >> 20);
    end if;
  end loop;
  return v_meant;
end $$;

comment on function tock.meant_instead is 'What was to replace a run, after all changes: its payload, priority and, where it waits, its time.';
