-- resolve_tasks() from the view of the queue of a key: a task that has continued in another stage counts as
-- running, with queue null. A task holds its key through all stages of its pipeline. It counts as started
-- once one of its runs has continued: in another queue than that of its key, or again in that one; or once it
-- has slept or waited for an event. A
-- continued run has another id than its task.
create or replace function tock.key_holders(p_queue text, p_ids bigint[])
returns tock.resolved_task[] language plpgsql volatile as $$
declare
  v_holders tock.resolved_task[] := pg_catalog.array_fill(null::tock.resolved_task,
    array[pg_catalog.cardinality(p_ids)]);
  v_at tock.resolved_task;
  v_ats tock.resolved_task[] := array(select w from tock.resolve_tasks(p_ids) w);
  v_retries bigint[] := array(
    select a.current_id from unnest(v_ats) a
    where a.state in ('waiting', 'ready', 'running') and a.queue = p_queue and a.current_id <> a.task_id);
  v_continued bigint[] := '{}';
begin
  if v_retries <> '{}' then
    v_continued := array(
      -- one statement: a promotion may turn a waiting entry into a run meanwhile
      with retries as materialized (
        select i.id, coalesce((
          select p.run_id from tock.promotions p
          where tock.stream_of(i.id) = 0 and p.position = tock.position_of(i.id)), i.id) as run_id
        from unnest(v_retries) i (id))
      select t.id from retries t
      join tock.stored_runs(array(select u.run_id from retries u)) r on r.id = t.run_id
      where r.options #> '{stage,after}' is not null or r.options ? 'suspended');
  end if;
  foreach v_at in array v_ats loop
    if v_at.queue <> p_queue or v_at.current_id = any (v_continued) then
      v_at.queue := null;
      v_at.state := case when v_at.state in ('waiting', 'ready') then 'running' else v_at.state end;
    end if;
    v_holders[v_at.n] := v_at;
  end loop;
  return v_holders;
end $$;

-- True if the ready holder of a key is cancelled for a newer task; false if it stays, because its key has
-- been in use for long. The replacement of a ready task goes to the end of the queue, so the task of a key
-- that is used again and again would never run. After a minute (or the time that the task asks for) the ready
-- task therefore stays, and the newer one becomes a second task. A pending change of the second task names
-- the first: until the first has started, no third task is added.
create or replace function tock.gives_way(
  p_key tock.unique_keys, p_at tock.resolved_task, p_task jsonb, p_left bigint)
returns boolean language plpgsql volatile as $$
begin
  -- the data of its parents would be lost with it
  if p_at.current_id <> p_at.task_id and (tock.run_at(p_at.current_id)).options ? 'gathered' then
    return false;
  end if;
  return pg_catalog.clock_timestamp() < p_key.created_at + interval '1 second' * pg_catalog.round(least(60,
      (p_task ->> 'unique_seconds')::numeric, (p_task ->> 'debounce_max_seconds')::numeric), 6)::float8
    or exists (select from tock.resolve_tasks(array[p_left]) w where w.state = 'ready');
end $$;
