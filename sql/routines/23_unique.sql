-- A key's row in unique_keys says which task had it last; whether that still counts follows from how the task
-- stands, so no end, death or crash has to give a key back. Whoever adds or changes something takes that row away
-- and writes the next: the second of two waits for the first's transaction, finds nothing to take away, and looks
-- again. Rows are numbered and not updated, so that under a held-open transaction the newest is found first.
-- Tasks with one key in one call go in rounds, each after the other.
create or replace function tock.append_unique(p_queue text, p_tasks jsonb, p_policy tock.queues)
returns bigint[]
language plpgsql
volatile
as $$
declare
  v_ids bigint[] := pg_catalog.array_fill(null::bigint, array[pg_catalog.jsonb_array_length(p_tasks)]);
  v_part jsonb;
  v_ns bigint[];
  v_round integer := 0;
  v_got bigint[];
begin
  perform tock.refuse_bad_tasks(p_tasks, p_policy.max_payload_bytes);
  loop
    -- first those without a key
    select pg_catalog.jsonb_agg(r.task order by r.n), pg_catalog.array_agg(r.n order by r.n) into v_part, v_ns
    from (
      select t.n, t.task, case when t.task ->> 'unique_key' is null then 0
        else row_number() over (partition by t.task ->> 'unique_key' order by t.n) end as round
      from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t(task, n)) r
    where r.round = v_round;
    exit when v_part is null and v_round > 0;
    if v_part is not null then
      v_got := case when v_round = 0 then tock.append_any(p_queue, v_part, p_policy)
        else tock.append_round(p_queue, v_part, p_policy) end;
      for v_n in 1 .. pg_catalog.cardinality(v_ns) loop
        v_ids[v_ns[v_n]] := v_got[v_n];
      end loop;
    end if;
    v_round := v_round + 1;
  end loop;
  return v_ids;
end $$;

comment on function tock.append_unique is
  'Appends tasks of which some have unique keys, unless a task that has the key stands for them; returns the ids in order.';

create or replace function tock.append_round(p_queue text, p_tasks jsonb, p_policy tock.queues)
returns bigint[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_ids bigint[] := pg_catalog.array_fill(null::bigint, array[pg_catalog.jsonb_array_length(p_tasks)]);
  v_now timestamptz;
  v_one record;
  v_held boolean;
  v_left boolean := true;
  v_fresh jsonb;
  v_ns bigint[];
  v_new bigint[];
  v_keys tock.unique_keys[];
  v_where tock.whereabout[];
begin
  while v_left loop
    v_left := false;
    v_fresh := '[]';
    v_ns := '{}';
    v_now := pg_catalog.clock_timestamp();
    v_keys := array(
      select k::tock.unique_keys
      from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t(task, n)
      cross join lateral (
        select k.* from tock.unique_keys k where k.queue = p_queue and k.unique_key = t.task ->> 'unique_key'
        order by k.queue desc, k.unique_key desc, k.number desc limit 1) k
      where v_ids[t.n] is null);
    v_where := array(select w from tock.whereabouts(array(select k.task_id from unnest(v_keys) k)) w);
    for v_one in
      select t.n, t.task, t.task ->> 'unique_key' as unique_key, k.number, k.task_id, k.until, k.changed_at, k.created_at,
        -- one that was moved to another queue is no longer this queue's
        case when w.queue = p_queue then w.state end as state,
        coalesce(t.task ->> 'on_conflict', 'keep') as on_conflict,
        coalesce(t.task ->> 'unique_policy', case when t.task ->> 'on_conflict' in ('rerun', 'throttle') then 'pending'
          else 'unfinished' end) as policy,
        pg_catalog.round((t.task ->> 'unique_seconds')::numeric, 6)::float8 * interval '1 second' as seconds,
        (t.task ->> 'changed_at')::timestamptz as given_changed_at
      from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t(task, n)
      left join unnest(v_keys) k on k.unique_key = t.task ->> 'unique_key'
      left join unnest(v_where) w on w.task_id = k.task_id
      where v_ids[t.n] is null
      order by t.task ->> 'unique_key' collate "C"
    loop
      if v_one.given_changed_at <= v_one.changed_at then
        v_ids[v_one.n] := v_one.task_id;  -- older than what is known
        continue;
      end if;
      v_held := v_one.state in ('waiting', 'ready')
        or (v_one.policy in ('unfinished', 'period') and v_one.state = 'running')
        or (v_one.policy = 'period' and v_one.created_at + v_one.seconds > v_now);
      v_held := coalesce(v_held, false);
      if v_held and v_one.on_conflict = 'keep' and v_one.given_changed_at is null then
        v_ids[v_one.n] := v_one.task_id;
        continue;
      end if;
      -- who takes the row away is the one to write the next
      if v_one.number is not null then
        delete from tock.unique_keys k
        where k.queue = p_queue and k.unique_key = v_one.unique_key and k.number = v_one.number;
        if not found then
          v_left := true;
          continue;
        end if;
      end if;
      insert into tock.unique_keys (number, task_id, until, changed_at, created_at, queue, unique_key)
        values (coalesce(v_one.number, 0) + 1, case when v_held then v_one.task_id else 0 end,
          case when v_held then v_one.until end, coalesce(v_one.given_changed_at, v_one.changed_at),
          case when v_held then v_one.created_at else v_now end, p_queue, v_one.unique_key)
        on conflict do nothing;
      if not found then
        v_left := true;
        continue;
      end if;
      -- the first may have been written, and taken away for a second, since this looked
      if v_one.number is null and (
        select max(k.number) from tock.unique_keys k where k.queue = p_queue and k.unique_key = v_one.unique_key) > 1
      then
        delete from tock.unique_keys k where k.queue = p_queue and k.unique_key = v_one.unique_key and k.number = 1;
        v_left := true;
        continue;
      end if;
      if v_held and (v_one.on_conflict = 'keep'
        or tock.change_held(v_one.task_id, v_one.on_conflict, v_one.policy, v_one.task, v_one.created_at))
      then
        v_ids[v_one.n] := v_one.task_id;
        continue;
      end if;
      if v_one.on_conflict = 'throttle' and v_one.until > v_now then
        v_one.task := v_one.task - 'delay_seconds' || pg_catalog.jsonb_build_object('run_at', v_one.until);
      end if;
      v_fresh := v_fresh || pg_catalog.jsonb_build_array(v_one.task);
      v_ns := v_ns || v_one.n;
    end loop;
    if v_ns <> '{}' then
      v_new := tock.append_any(p_queue, v_fresh, p_policy);
      for v_n in 1 .. pg_catalog.cardinality(v_ns) loop
        v_ids[v_ns[v_n]] := v_new[v_n];
      end loop;
      update tock.unique_keys k set task_id = f.id, created_at = v_now,
        until = coalesce((f.task ->> 'run_at')::timestamptz, v_now)
          + pg_catalog.round((f.task ->> 'unique_seconds')::numeric, 6)::float8 * interval '1 second'
      from (
        select v_new[t.n] as id, t.task, (
          select u.number from tock.unique_keys u where u.queue = p_queue and u.unique_key = t.task ->> 'unique_key'
          order by u.queue desc, u.unique_key desc, u.number desc limit 1) as number
        from pg_catalog.jsonb_array_elements(v_fresh) with ordinality t(task, n) offset 0) f
      where k.queue = p_queue and k.unique_key = f.task ->> 'unique_key' and k.number = f.number;
    end if;
  end loop;
  return v_ids;
end $$;

comment on function tock.append_round is 'append_unique() for tasks with a different key each.';

-- True when the task stands for the new one. One that has started meanwhile doesn't, where the key counts until
-- the start.
create or replace function tock.change_held(p_id bigint, p_on_conflict text, p_policy text, p_task jsonb, p_created_at timestamptz)
returns boolean
language plpgsql
volatile
as $$
declare
  v_changes jsonb := pg_catalog.jsonb_build_object('payload', p_task -> 'payload')
    || case when p_task ->> 'priority' is not null then pg_catalog.jsonb_build_object('priority', p_task -> 'priority') else '{}' end;
  v_before jsonb;
  v_due timestamptz := coalesce((p_task ->> 'run_at')::timestamptz,
    pg_catalog.clock_timestamp() + interval '1 second' * pg_catalog.round((p_task ->> 'delay_seconds')::numeric, 6)::float8);
  v_changed record;
begin
  if p_on_conflict = 'merge' then
    v_before := tock.payload_of(p_id);
    if pg_catalog.jsonb_typeof(v_before) = 'array' and pg_catalog.jsonb_typeof(p_task -> 'payload') = 'array' then
      v_changes := pg_catalog.jsonb_set(v_changes, '{payload}', v_before || (p_task -> 'payload'));
    end if;
  elsif p_on_conflict = 'debounce' then
    v_changes := v_changes || pg_catalog.jsonb_build_object('run_at', least(coalesce(v_due, pg_catalog.clock_timestamp()),
      p_created_at + interval '1 second' * pg_catalog.round((p_task ->> 'debounce_max_seconds')::numeric, 6)::float8));
  elsif p_on_conflict = 'replace' and v_due is not null then
    v_changes := v_changes || pg_catalog.jsonb_build_object('run_at', v_due);
  end if;
  select c.state, c.changed into v_changed from tock.change(array[p_id], v_changes) c;
  return case
    when v_changed.state in ('waiting', 'ready') then v_changed.changed
    when v_changed.state = 'running' then p_policy <> 'pending'
    else p_policy = 'period' end;
end $$;

comment on function tock.change_held is 'Gives the task that has a unique key what the new one brings; whether it stands for that one.';

create or replace function tock.payload_of(p_id bigint)
returns jsonb
language plpgsql
volatile
as $$
declare
  v_at tock.whereabout := (select w from tock.whereabouts(array[p_id]) w);
begin
  return case when v_at.state = 'waiting' then (select w.payload from tock.waiting w where w.position = v_at.current_id >> 20)
    else (tock.run_at(v_at.current_id)).payload end;
end $$;

comment on function tock.payload_of is 'A task''s payload as it is now.';
