-- A key's row in unique_keys says which task had it last; whether that still counts follows from how the task
-- stands, so no end, death or crash has to give a key back. Whoever adds or changes something takes that row away
-- and writes the next: the second of two waits for the first's transaction, finds nothing to take away, and looks
-- again. Rows are numbered and not updated, so that under a held-open transaction the newest is found first.
-- Tasks with one key in one call go in rounds, each after the other. The first takes all keys that it or a later one
-- needs, in their order, before any task is touched: so two calls can wait for each other in one direction only.
create or replace function tock.append_unique(p_queue text, p_tasks jsonb, p_policy tock.queues)
returns bigint[]
language plpgsql
volatile
as $$
declare
  v_ids bigint[] := pg_catalog.array_fill(null::bigint, array[pg_catalog.jsonb_array_length(p_tasks)]);
  v_keyed bigint;
  v_excess bigint;
  v_round record;
  v_got bigint[];
begin
  perform tock.refuse_bad_tasks(p_tasks, p_policy.max_payload_bytes);
  perform tock.check_push(p_tasks, p_policy);
  perform tock.check_after(p_tasks);
  perform tock.check_pipelines(p_queue, p_tasks);
  select count(*), min(c.n) filter (where c.of_call > 10000 or c.of_key > 100) into v_keyed, v_excess
  from (
    select t.n, row_number() over (order by t.n) as of_call,
      row_number() over (partition by t.task ->> 'unique_key' order by t.n) as of_key
    from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t(task, n)
    where t.task ->> 'unique_key' is not null) c;
  if v_keyed > 0 and pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform tock.refuse(409, 'tasks with a unique_key have to be enqueued in read committed: an older snapshot doesn''t show who has a key',
      'unique_key', 'begin the transaction with isolation level read committed, or enqueue these tasks in one of their own');
  elsif v_excess is not null then
    perform tock.refuse(422, 'one call takes up to 10,000 tasks with a unique_key, and up to 100 of one key',
      pg_catalog.format('tasks[%s].unique_key', v_excess - 1), 'split it into several calls');
  end if;
  for v_round in
    select r.round, pg_catalog.to_jsonb(pg_catalog.array_agg(r.task order by r.unique_key, r.n)) as tasks,
      pg_catalog.array_agg(r.n order by r.unique_key, r.n) as ns,
      pg_catalog.array_agg(r.of_key > r.round order by r.unique_key, r.n) as again
    from (
      select t.n, t.task, t.unique_key, count(*) over (partition by t.unique_key) as of_key,
        case when t.unique_key is null then 0 else row_number() over (partition by t.unique_key order by t.n) end as round
      from (
        select t.n, t.task, (t.task ->> 'unique_key') collate "C" as unique_key
        from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t(task, n) offset 0) t) r
    group by r.round
    order by r.round = 0, r.round
  loop
    v_got := case when v_round.round = 0 then tock.append_any(p_queue, v_round.tasks, p_policy)
      else tock.append_round(p_queue, v_round.tasks, v_round.again, p_policy) end;
    for v_n in 1 .. pg_catalog.cardinality(v_got) loop
      v_ids[v_round.ns[v_n]] := v_got[v_n];
    end loop;
  end loop;
  return v_ids;
end $$;

comment on function tock.append_unique is
  'Appends tasks of which some have unique keys, unless a task that has the key stands for them; returns the ids in order.';

create or replace function tock.append_round(p_queue text, p_tasks jsonb, p_again boolean[], p_policy tock.queues)
returns bigint[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_tasks jsonb[] := array(
    select t.task from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t(task, n) order by t.n);
  v_count integer := pg_catalog.cardinality(v_tasks);
  v_ids bigint[] := pg_catalog.array_fill(null::bigint, array[v_count]);
  v_from integer := 1;
  v_before integer;
  v_n integer;
  v_now timestamptz;
  v_task jsonb;
  v_keys tock.unique_keys[];
  v_key tock.unique_keys;
  v_taken tock.unique_keys[] := pg_catalog.array_fill(null::tock.unique_keys, array[v_count]);
  v_at tock.whereabout;
  v_ats tock.whereabout[];
  v_changed_at timestamptz;
  v_number bigint;
  v_older boolean;
  v_held boolean;
  v_stays boolean;
  v_cancelled bigint[] := '{}';
  v_left bigint[] := '{}';
  v_fresh jsonb[] := '{}';
  v_ns integer[] := '{}';
  v_new bigint[];
begin
  -- who takes a row away is the one to write the next; keys are taken upwards, so who lost one goes on from there
  while v_from <= v_count loop
    v_now := pg_catalog.clock_timestamp();
    v_before := v_from - 1;
    v_keys := array(
      select k.latest
      from unnest(v_tasks[v_from:]) with ordinality t(task, n)
      left join lateral (
        select k::tock.unique_keys as latest from tock.unique_keys k
        where k.queue = p_queue and k.unique_key = t.task ->> 'unique_key'
        order by k.queue desc, k.unique_key desc, k.number desc limit 1) k on true
      order by t.n);
    v_ats := pg_catalog.array_fill(null::tock.whereabout, array[v_count]);
    for v_at in select w.* from tock.key_holders(p_queue, array(
      select coalesce(k.task_id, 0) from unnest(v_keys) with ordinality k order by k.ordinality)) w
    loop
      v_ats[v_at.n] := v_at;
    end loop;
    for v_n in v_from .. v_count loop
      v_from := v_n + 1;
      v_task := v_tasks[v_n];
      v_key := v_keys[v_n - v_before];
      v_at := v_ats[v_n - v_before];
      v_number := v_key.number;
      v_changed_at := (v_task ->> 'changed_at')::timestamptz;
      v_older := coalesce(v_changed_at <= v_key.changed_at, false);
      v_held := tock.counts(v_task, v_at.state, v_key.created_at, v_now);
      v_stays := v_older or (v_held and coalesce(v_task ->> 'on_conflict', 'keep') = 'keep');
      v_ids[v_n] := case when v_stays then v_key.task_id end;
      continue when v_stays and not p_again[v_n] and (v_older or v_changed_at is null);
      if v_number is not null then
        delete from tock.unique_keys k
        where k.queue = p_queue and k.unique_key = v_task ->> 'unique_key' and k.number = v_number;
        if not found then
          v_from := v_n;
          exit;
        end if;
      end if;
      insert into tock.unique_keys (number, task_id, until, changed_at, created_at, queue, unique_key)
        values (coalesce(v_number, 0) + 1, case when v_held or v_stays then v_key.task_id else 0 end, v_key.until,
          case when v_older then v_key.changed_at else coalesce(v_changed_at, v_key.changed_at) end,
          case when v_held or v_stays then v_key.created_at else v_now end, p_queue, v_task ->> 'unique_key')
        on conflict do nothing
        returning * into v_key;
      if not found then
        v_from := v_n;
        exit;
      end if;
      -- the first may have been written, and taken away for a second, since this looked
      if v_number is null and (
        select max(k.number) from tock.unique_keys k where k.queue = p_queue and k.unique_key = v_task ->> 'unique_key') > 1
      then
        delete from tock.unique_keys k
        where k.queue = p_queue and k.unique_key = v_task ->> 'unique_key' and k.number = 1;
        v_from := v_n;
        exit;
      end if;
      v_taken[v_n] := v_key;
    end loop;
  end loop;

  -- how they stand now, as taking the keys may have taken a while
  v_ats := pg_catalog.array_fill(null::tock.whereabout, array[v_count]);
  for v_at in select w.* from tock.key_holders(p_queue, array(
    select coalesce(k.task_id, 0) from unnest(v_taken) with ordinality k order by k.ordinality)) w
  loop
    v_ats[v_at.n] := v_at;
  end loop;
  -- in the order in which cancel() and change() take what they change
  foreach v_n in array array(
    select a.ordinality from unnest(v_ats) with ordinality a
    order by pg_catalog.array_position(array['waiting', 'ready', 'running'], a.state),
      case a.state when 'running' then a.task_id else a.current_id end, a.ordinality)
  loop
    continue when v_ids[v_n] is not null;
    v_task := v_tasks[v_n];
    v_key := v_taken[v_n];
    v_at := v_ats[v_n];
    if v_key.task_id <> 0 and tock.change_held(v_key, v_at, v_task) then
      v_ids[v_n] := v_key.task_id;
      continue;
    elsif v_key.task_id <> 0 and tock.key_policy(v_task) = 'pending' then
      if v_at.state = 'waiting' then
        select w.* into v_at from tock.key_holders(p_queue, array[v_key.task_id]) w;
      end if;
      v_left[v_n] := (select max((w.changes ->> 'left')::bigint) from unnest(tock.wishes(array[v_key.task_id])) w);
      if v_at.state = 'waiting' or (v_at.state = 'ready' and tock.gives_way(v_key, v_at, v_task, v_left[v_n])) then
        v_cancelled := v_cancelled || v_key.task_id;
        v_task := tock.in_its_place(v_key, v_at, v_task);
        perform tock.check_payload_fits(
          pg_catalog.jsonb_build_object('bytes', pg_catalog.octet_length((v_task -> 'payload')::text)), p_queue, 1);
      else
        v_left[v_n] := case when v_at.state = 'ready' then v_key.task_id end;
        v_key.task_id := 0;
      end if;
    else
      v_key.task_id := 0;
    end if;
    if v_key.task_id = 0 then
      if v_task ->> 'on_conflict' = 'throttle' and v_key.until > v_now then
        v_task := v_task - 'delay_seconds'
          || pg_catalog.jsonb_build_object('run_at', least(v_key.until, v_now + interval '10 years'));
      end if;
      v_key.created_at := v_now;
      v_key.until := null;
    end if;
    v_key.until := coalesce(v_key.until, greatest(v_now, coalesce((v_task ->> 'run_at')::timestamptz,
        v_now + pg_catalog.round((v_task ->> 'delay_seconds')::numeric, 6)::float8 * interval '1 second'))
      + pg_catalog.round((v_task ->> 'unique_seconds')::numeric, 6)::float8 * interval '1 second');
    v_taken[v_n] := v_key;
    v_ns := v_ns || v_n;
    v_fresh[pg_catalog.cardinality(v_ns)] := v_task;
  end loop;
  if v_cancelled <> '{}' then
    perform tock.cancel(v_cancelled);
  end if;
  if v_ns <> '{}' then
    v_new := tock.append_any(p_queue, pg_catalog.to_jsonb(v_fresh), p_policy);
    for v_n in 1 .. pg_catalog.cardinality(v_ns) loop
      v_key := v_taken[v_ns[v_n]];
      v_ids[v_ns[v_n]] := v_new[v_n];
      update tock.unique_keys k set task_id = v_new[v_n], created_at = v_key.created_at, until = v_key.until
      where k.queue = p_queue and k.unique_key = v_key.unique_key and k.number = v_key.number;
      if v_left[v_ns[v_n]] is not null then
        perform tock.amend(array[row(v_n, v_new[v_n], v_new[v_n], null, null)::tock.whereabout],
          pg_catalog.jsonb_build_object('left', v_left[v_ns[v_n]]));
      end if;
    end loop;
  end if;
  return v_ids;
end $$;

comment on function tock.append_round is
  'append_unique() for tasks with a different key each, in the order of these; p_again: which keys come again in its call.';
