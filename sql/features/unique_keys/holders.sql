-- A task holds its key through all stages of its pipeline, and has started once a run of it has led on: to
-- another queue than its key's, or back to that one. What has led on goes by another id than its task's.
create or replace function tock.key_holders(p_queue text, p_ids bigint[])
returns setof tock.resolved_task
language plpgsql
volatile
as $$
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
  'resolve_tasks() as a key''s queue sees them: what has gone on to another stage is running, its queue '
  'null.';

-- What replaces a ready task stands at the end of the queue, so a key that is named again and again would
-- never come to run. So after a minute (or the time that it asks for) the ready one is left as it is, and the
-- newer one is another task, with a mark that says which was left: while that one hasn't started,
-- no second is left.
create or replace function tock.gives_way(
  p_key tock.unique_keys, p_at tock.resolved_task, p_task jsonb, p_left bigint)
returns boolean
language plpgsql
volatile
as $$
begin
  -- what its parents gave it would go with it
  if p_at.current_id <> p_at.task_id and tock.options_at(p_at.current_id) ? 'gathered' then
    return false;
  end if;
  return pg_catalog.clock_timestamp() < p_key.created_at + interval '1 second' * pg_catalog.round(least(60,
      (p_task ->> 'unique_seconds')::numeric, (p_task ->> 'debounce_max_seconds')::numeric), 6)::float8
    or exists (select from tock.resolve_tasks(array[p_left]) w where w.state = 'ready');
end $$;

comment on function tock.gives_way is
  'Whether a ready task that has a key is cancelled for a newer one, or is left '
  'to run as its key has been named for long.';
