-- p_names has queues and concurrency keys, alternating.
create or replace function tock.admit_at_named_keys(p_names text[], p_wait boolean)
returns void language plpgsql volatile as $$
declare
  v_queues text[] := '{}';
  v_concurrency_keys text[] := '{}';
begin
  for v_n in 1 .. pg_catalog.cardinality(p_names) / 2 loop
    v_queues := v_queues || p_names[2 * v_n - 1];
    v_concurrency_keys := v_concurrency_keys || p_names[2 * v_n];
  end loop;
  if v_concurrency_keys <> '{}' then
    perform tock.admit_at_keys(v_queues, v_concurrency_keys, p_wait);
  end if;
end $$;

comment on function tock.admit_at_named_keys is
  'admit_at_keys() for alternating queues and concurrency keys.';

-- The reaper passes p_wait false: it holds the locks of many leases, so it must not wait for a concurrency
-- key.
create or replace function tock.release_keys_of_leases(p_leases uuid[], p_segment integer, p_wait boolean)
returns void language plpgsql volatile as $$
declare
  v_lease uuid;
  v_names text[];
  v_all text[] := '{}';
begin
  foreach v_lease in array p_leases loop
    v_names := tock.keys_of_lease_current(v_lease, p_segment);
    if v_names is null then
      execute pg_catalog.format('select tock.keys_of_lease_%s($1, $2)', p_segment) into v_names
        using v_lease, p_segment;
    end if;
    v_all := v_all || v_names;
  end loop;
  perform tock.admit_at_named_keys(v_all, p_wait);
end $$;

comment on function tock.release_keys_of_leases is
  'Admits waiters at the concurrency keys of the runs of leases.';

-- Runs of the same lease that have not ended keep their concurrency keys.
create or replace function tock.release_keys_of_runs(p_segment integer, p_ended tock.ending[])
returns void language plpgsql volatile as $$
declare
  v_names text[] := tock.keys_of_ended_runs_current(p_segment, p_ended);
begin
  if v_names is null then
    execute pg_catalog.format('select tock.keys_of_ended_runs_%s($1, $2)', p_segment) into v_names
      using p_segment, p_ended;
  end if;
  perform tock.admit_at_named_keys(v_names, true);
end $$;

comment on function tock.release_keys_of_runs is 'Admits waiters at the concurrency keys of ended runs.';

-- change() has stored the pending changes before: they tell a postponed task from one that backs off.
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
  if v_concurrency_keys is not null then
    perform tock.admit_at_keys(v_queues, v_concurrency_keys);
  end if;
end $$;

comment on function tock.release_admissions is
  'Admits waiters at the concurrency keys of admitted waiting tasks that were postponed.';
