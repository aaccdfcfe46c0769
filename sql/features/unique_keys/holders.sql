-- A task holds its key through all stages of its pipeline. It counts as started once one of its runs has
-- continued: in another queue than that of its key, or again in that one. A continued run has another id than
-- its task.
create or replace function tock.key_holders(p_queue text, p_ids bigint[])
returns setof tock.resolved_task language plpgsql volatile as $$
declare
  v_ats tock.resolved_task[] := array(select w from tock.resolve_tasks(p_ids) w);
  v_continued bigint[] := tock.continued_runs(array(
    select a.current_id from unnest(v_ats) a
    where a.state in ('waiting', 'ready', 'running') and a.queue = p_queue and a.current_id <> a.task_id));
begin
  return query
    select a.n, a.task_id, a.current_id, case when l.later and a.state in ('waiting', 'ready') then 'running'
      else a.state end,
      case when not l.later then a.queue end
    from unnest(v_ats) a
    cross join lateral (select a.queue <> p_queue or a.current_id = any (v_continued) as later) l;
end $$;

comment on function tock.key_holders is
  'resolve_tasks() from the view of the queue of a key: a task that has continued in another stage counts '
  'as running, with queue null.';

-- The replacement of a ready task goes to the end of the queue, so the task of a key that is used again and
-- again would never run. After a minute (or the time that the task asks for) the ready task therefore stays,
-- and the newer one becomes a second task. A pending change of the second task names the first: until the
-- first has started, no third task is added.
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

comment on function tock.gives_way is
  'True if the ready holder of a key is cancelled for a newer task; false if it stays, because its key has '
  'been in use for long.';
