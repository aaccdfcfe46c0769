-- Admits waiters at the concurrency keys of the runs of leases. The reaper passes p_wait false: it holds the
-- locks of many leases, so it must not wait for a concurrency key.
create or replace function tock.release_keys_of_leases(p_leases uuid[], p_segment integer, p_wait boolean)
returns void language plpgsql volatile as $$
declare
  v_lease uuid;
  v_keys record;
  v_queues text[] := '{}';
  v_concurrency_keys text[] := '{}';
begin
  foreach v_lease in array p_leases loop
    v_keys := tock.keys_of_lease_current(v_lease, p_segment);
    if v_keys.queues is null then
      execute pg_catalog.format('select * from tock.keys_of_lease_%s($1, $2)', p_segment) into v_keys
        using v_lease, p_segment;
    end if;
    v_queues := v_queues || v_keys.queues;
    v_concurrency_keys := v_concurrency_keys || v_keys.concurrency_keys;
  end loop;
  perform tock.admit_at_keys(v_queues, v_concurrency_keys, p_wait);
end $$;

-- Admits waiters at the concurrency keys of ended runs. Runs of the same lease that have not ended keep their
-- concurrency keys.
create or replace function tock.release_keys_of_runs(p_segment integer, p_ended tock.ending[])
returns void language plpgsql volatile as $$
declare
  v_keys record;
begin
  v_keys := tock.keys_of_ended_runs_current(p_segment, p_ended);
  if v_keys.queues is null then
    execute pg_catalog.format('select * from tock.keys_of_ended_runs_%s($1, $2)', p_segment) into v_keys
      using p_segment, p_ended;
  end if;
  perform tock.admit_at_keys(v_keys.queues, v_keys.concurrency_keys);
end $$;

-- Admits waiters at the concurrency keys of admitted waiting tasks that were postponed. change() has stored
-- the pending changes before: they tell a postponed task from one that backs off.
create or replace function tock.release_admissions(p_ids bigint[])
returns void language plpgsql volatile as $$
declare
  v_queues text[];
  v_concurrency_keys text[];
begin
  select pg_catalog.array_agg(w.queue), pg_catalog.array_agg(w.concurrency_key)
  into v_queues, v_concurrency_keys
  from tock.waiting w
  where w.position = any (array(select tock.position_of(i) from unnest(p_ids) i))
    and w.concurrency_key is not null
    and w.task_id is not null
    and w.due_at < 'infinity';
  perform tock.admit_at_keys(v_queues, v_concurrency_keys);
end $$;
