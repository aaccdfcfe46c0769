-- Enqueues the tasks that runs spawn, and stores their ids with each run.
create or replace function tock.enqueue_spawned(p_runs tock.leased_run[], p_results jsonb)
returns void language plpgsql volatile as $$
declare
  v_part record;
  v_all bigint[] := '{}';
  v_places jsonb := '[]';
  v_code text;
  v_message text;
  v_detail text;
  v_hint text;
begin
  for v_part in select s.* from tock.spawn_parts(p_runs, p_results) s loop
    begin
      perform tock.check_queue(v_part.queue, 'queue', 422);
      v_all := v_all || tock.enqueue(v_part.queue, v_part.tasks);
      v_places := v_places || v_part.places;
    exception
      when sqlstate 'TK403' or sqlstate 'TK409' or sqlstate 'TK422' or sqlstate 'TK503' then
        get stacked diagnostics v_code = returned_sqlstate, v_message = message_text,
          v_detail = pg_exception_detail, v_hint = pg_exception_hint;
        perform tock.refuse(pg_catalog.right(v_code, 3)::integer, v_message,
          tock.spawned_field(v_detail, v_part.places, p_runs), nullif(v_hint, ''));
    end;
  end loop;
  update tock.requests q set ids = i.ids
  from (
    select p_runs[g.k] as run, g.ids
    from (
      select (p.place ->> 0)::integer as k,
        pg_catalog.array_agg(v_all[p.n] order by (p.place ->> 1)::integer) as ids
      from pg_catalog.jsonb_array_elements(v_places) with ordinality p (place, n) group by 1) g
    offset 0) i
  where q.verb = 'spawn' and q.queue = (i.run).queue
    and q.request_id = ((i.run).position << 20 | (i.run).stream)::text;
end $$;

-- The path in a completion of a field that enqueue() rejected.
create or replace function tock.spawned_field(p_field text, p_places jsonb, p_runs tock.leased_run[])
returns text language plpgsql immutable as $$
declare
  v_task text := substring(p_field from '^tasks\[(\d+)\]');
  v_place jsonb := p_places -> coalesce(v_task::integer, 0);
begin
  return pg_catalog.format('results[%s].spawn', (p_runs[(v_place ->> 0)::integer]).n - 1)
    || case when v_task is null then coalesce('.' || nullif(p_field, ''), '')
      else pg_catalog.format('.tasks[%s]', (v_place ->> 1)::integer - 1)
        || substring(p_field from '^tasks\[\d+\](.*)$') end;
end $$;

-- The tasks that runs spawn as calls of enqueue() in order; places has for each task the index of its run and
-- of the task in that run. The unique keys of all runs of a call are locked as in one enqueue: queue by
-- queue, and key by key. So two completions cannot deadlock. What exceeds one enqueue is split. A round has
-- up to 100 tasks of each key, and its parts have up to 1,000 tasks, in the order of the keys. Tasks without
-- a key come last, those of each run in one part.
create or replace function tock.spawn_parts(
  p_runs tock.leased_run[], p_results jsonb, out queue text, out tasks jsonb, out places jsonb)
returns setof record language plpgsql volatile rows 1000 as $$
#variable_conflict use_column
begin
  return query
    with spawned as materialized (
      select s.k, t.n, s.queue, (t.task ->> 'unique_key') collate "C" as unique_key,
        -- a parent that the task itself names takes precedence
        case pg_catalog.jsonb_typeof(t.task) when 'object' then s.parent || t.task else t.task end as task
      from (
        select r.k, coalesce(o.spawn ->> 'queue', r.queue) as queue, o.spawn -> 'tasks' as tasks,
          pg_catalog.jsonb_build_object('parent', r.id::text) as parent
        from unnest(p_runs) with ordinality
          r(n, id, stream, position, queue, attempt, lost, max_attempts, state, result, error, next_id, k)
        cross join lateral (select p_results -> (r.n - 1)::integer -> 'spawn' as spawn) o
        offset 0) s
      cross join lateral pg_catalog.jsonb_array_elements(s.tasks) with ordinality t (task, n)
    ), rounds as (
      select s.*, case when s.unique_key is not null then (row_number() over (
        partition by s.queue, s.unique_key order by s.k, s.n) - 1) / 100 end as round
      from spawned s
    ), parts as (
      select r.*, case when r.unique_key is null then r.k else (row_number() over (
        partition by r.queue, r.round order by r.unique_key, r.k, r.n) - 1) / 1000 end as part
      from rounds r)
    select p.queue, pg_catalog.to_jsonb(pg_catalog.array_agg(p.task order by p.k, p.n)),
      pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(p.k, p.n) order by p.k, p.n)
    from parts p
    group by p.queue, p.round, p.part
    order by p.round is null, p.queue, p.round, p.part;
end $$;
