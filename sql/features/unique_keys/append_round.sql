-- append_unique() for tasks with a different key each, in their order; p_again says for each task whether its
-- key occurs again later in the call.
create or replace function tock.append_round(
  p_queue text, p_tasks jsonb, p_again boolean[], p_policy tock.queues)
returns bigint[] language plpgsql volatile as $$
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
  v_at tock.resolved_task;
  v_ats tock.resolved_task[];
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
  -- The call that deletes a row writes the next one. Keys are taken in ascending order, so a call that loses
  -- one continues from there.
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
    v_ats := tock.key_holders(p_queue, array(
      select coalesce(k.task_id, 0) from unnest(v_keys) with ordinality k order by k.ordinality));
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
        where k.queue = p_queue and k.unique_key = v_task ->> 'unique_key' and k.number = v_number
          -- after a pruned row the numbers begin again
          and k.task_id = v_key.task_id and k.created_at = v_key.created_at;
        if not found then
          v_from := v_n;
          exit;
        end if;
      end if;
      insert into tock.unique_keys (number, task_id, until, changed_at, created_at, queue, unique_key)
        values (coalesce(v_number, 0) + 1, case when v_held or v_stays then v_key.task_id
          else 0 end, v_key.until,
          case when v_older then v_key.changed_at else coalesce(v_changed_at, v_key.changed_at) end,
          case when v_held or v_stays then v_key.created_at else v_now end, p_queue, v_task ->> 'unique_key')
        on conflict do nothing
        returning * into v_key;
      if not found then
        v_from := v_n;
        exit;
      end if;
      -- since this call read it, the first row may have been written and replaced by a second one
      if v_number is null and (
        select max(k.number) from tock.unique_keys k
        where k.queue = p_queue and k.unique_key = v_task ->> 'unique_key') > 1
      then
        delete from tock.unique_keys k
        where k.queue = p_queue and k.unique_key = v_task ->> 'unique_key' and k.number = 1;
        v_from := v_n;
        exit;
      end if;
      v_taken[v_n] := v_key;
    end loop;
  end loop;

  -- read again, because taking the keys may have taken a while
  v_ats := tock.key_holders(p_queue, array(
    select coalesce(k.task_id, 0) from unnest(v_taken) with ordinality k order by k.ordinality));
  -- in the order in which cancel() and change() lock
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
        v_at := (tock.key_holders(p_queue, array[v_key.task_id]))[1];
      end if;
      v_left[v_n] := (select max((w.changes ->> 'left')::bigint)
        from unnest(tock.pending_changes(array[v_key.task_id])) w);
      if v_at.state = 'waiting' or (v_at.state = 'ready' and tock.gives_way(v_key, v_at, v_task, v_left[v_n]))
      then
        v_cancelled := v_cancelled || v_key.task_id;
        v_task := tock.in_its_place(v_key, v_at, v_task);
        perform tock.check_payload_fits(
          pg_catalog.jsonb_build_object('bytes', pg_catalog.octet_length((v_task -> 'payload')::text)),
          p_queue, 1);
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
        perform tock.add_pending_changes(
          array[row(v_n, v_new[v_n], v_new[v_n], null, null)::tock.resolved_task],
          pg_catalog.jsonb_build_object('left', v_left[v_ns[v_n]]));
      end if;
    end loop;
  end if;
  return v_ids;
end $$;
