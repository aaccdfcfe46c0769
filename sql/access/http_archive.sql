-- True if a key may see a task that was read from the archive, false for a task of another tenant; TK403 if
-- the key is not for its queue or for a stage of its pipeline. The other checks of a key read only the
-- database. This one gets the task that was read from the archive.
create or replace function tock.authorize_archived(
  p_key text, p_scope text, p_tenant text, p_queue text, p_options jsonb)
returns boolean language plpgsql volatile as $$
declare
  v_tenants text[] := tock.tenants_of_key(p_key);
  v_queue text;
begin
  if v_tenants is not null and (p_tenant = any (v_tenants)) is not true then
    return false;
  end if;
  for v_queue in
    select p_queue
    union select s.stage from pg_catalog.jsonb_array_elements_text(
      case when pg_catalog.jsonb_typeof(p_options -> 'pipeline') = 'array' then p_options -> 'pipeline'
        else '[]' end) s (stage)
  loop
    perform tock.authorize(p_key, p_scope, v_queue, true, true);
  end loop;
  return true;
end $$;

create or replace function tock.http_task(
  p_key text, p_id bigint, p_whole boolean, p_rows jsonb, p_scanned bigint[], p_again boolean default false)
returns text language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_own bigint := tock.visible_task(p_key, p_id);
  v_task record;
begin
  perform tock.authorize(p_key, 'read', tock.queue_for_authorization(p_key, v_own), true,
    p_again or p_rows <> '[]');
  select t.* into v_task from tock.task_with(p_id, tock.archived_runs(p_rows), p_scanned) t;
  if v_task.missing is not null then
    return pg_catalog.json_build_object('missing', v_task.missing)::text;
  elsif v_task.id is null or (v_own is null or p_rows <> '[]')
    and not tock.authorize_archived(p_key, 'read', v_task.tenant,
      coalesce(v_task.runs -> 0 ->> 'queue', v_task.queue), v_task.options)
  then
    return null;
  end if;
  return (
    select pg_catalog.row_to_json(a)::text from (
      select v_task.id::text as id, v_task.queue, v_task.state, v_task.priority, v_task.tenant,
        v_task.attempt, v_task.max_attempts, v_task.lost, v_task.created_at, v_task.run_at, v_task.ended_at,
        case when w.whole then v_task.payload end as payload, v_task.result, k.error, k.options,
        v_task.progress, v_task.note, case when w.whole then v_task.runs end as runs, k.rerun_of, k.reruns,
        case when tock.tenants_of_key(p_key) is null then v_task.schedule end as schedule
      from (select p_whole or v_task.state in ('done', 'dead', 'cancelled', 'expired') as whole) w
      cross join tock.readable_links(p_key, v_task.options, v_task.error, v_task.rerun_of,
        v_task.reruns) k) a);
end $$;

comment on function tock.http_task is
  'GET /v1/tasks/:id with an archive: authorize() and task() with the runs read from the archive. Returns '
  'the body of the answer, {missing} if more has to be read, null if there is no such task.';

-- The archive has the steps of a task with its last run. Until the segment of that run is dropped, they are
-- in the database.
create or replace function tock.http_task_steps(p_key text, p_id bigint, p_rows jsonb, p_scanned bigint[])
returns text language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_own bigint := tock.visible_task(p_key, p_id);
  v_task record;
  v_steps jsonb;
begin
  perform tock.authorize(p_key, 'read', tock.queue_for_authorization(p_key, v_own), true, p_rows <> '[]');
  if exists (select from tock.resolve_tasks(array[tock.first_id(v_own)])) then
    v_steps := (
      select pg_catalog.jsonb_agg(pg_catalog.to_jsonb(s)
        || pg_catalog.jsonb_build_object('child_id', s.child_id::text))
      from tock.task_steps(v_own) s);
  else
    select t.* into v_task from tock.task_with(p_id, tock.archived_runs(p_rows), p_scanned) t;
    if v_task.missing is not null then
      return pg_catalog.json_build_object('missing', v_task.missing)::text;
    elsif v_task.id is null or not tock.authorize_archived(p_key, 'read', v_task.tenant,
      coalesce(v_task.runs -> 0 ->> 'queue', v_task.queue), v_task.options)
    then
      return null;
    end if;
    v_steps := (
      select r.steps::jsonb from pg_catalog.jsonb_to_recordset(p_rows) r (
        task_id bigint, next_id bigint, steps text)
      where r.task_id = v_task.id and r.next_id is null and not exists (
        select from tock.archive_erasures e where e.task_id = r.task_id));
  end if;
  return (
    select pg_catalog.json_build_object('steps', coalesce(pg_catalog.json_agg(
      e.step || pg_catalog.jsonb_build_object('n', e.n) order by e.n), '[]'))::text
    from pg_catalog.jsonb_array_elements(v_steps) with ordinality e (step, n));
end $$;

comment on function tock.http_task_steps is
  'GET /v1/tasks/:id/steps with an archive: authorize() and task_steps(), or the steps read from the '
  'archive. Returns the body of the answer, {missing} if more has to be read, null if there is no such task.';

-- The files are listed newest first, and a cursor is the next file. tasks() lists tasks that are still in the
-- database.
create or replace function tock.archive_search(
  p_queue text, p_from timestamptz, p_to timestamptz, p_segment integer default null,
  p_part integer default null, p_limit integer default 4)
returns table (files jsonb, erased text[], from_micros text, to_micros text) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  perform tock.check_queue_name(p_queue);
  perform tock.check_range(p_limit, 1, 100, 'p_limit');
  files := (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('segment', f.segment, 'part', f.part,
      'path', f.path, 'bytes', f.bytes, 'rows', f.rows) order by f.segment desc, f.part desc), '[]')
    from (
      select f.* from tock.archived_files f
      join tock.archives a on a.segment = f.segment and a.state = 'dropped'
      where p_queue = any (f.queues) and (p_segment is null or (f.segment, f.part) <= (p_segment, p_part))
        and (p_from is null or f.last_created_at >= p_from) and (p_to is null or f.first_created_at < p_to)
      order by f.segment desc, f.part desc limit p_limit) f);
  erased := array(select e.task_id::text from tock.archive_erasures e where e.erased_at is null limit 10001);
  if pg_catalog.cardinality(erased) > 10000 then
    erased := null;
  end if;
  from_micros := tock.micros(p_from);
  to_micros := tock.micros(p_to);
  return next;
end $$;

comment on function tock.archive_search is
  'The newest files of the archive, from a part on, that may have tasks of a queue created in a period; the '
  'tasks with a pending erasure (null if they are too many to list), and the period in microseconds.';

create or replace function tock.http_erase_archived(p_key text, p_id bigint, p_rows jsonb, p_scanned bigint[])
returns text language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_task record;
  v_runs integer;
begin
  perform tock.authorize(p_key, 'admin', null, true, true);
  select t.* into v_task from tock.task_with(p_id, tock.archived_runs(p_rows), p_scanned) t;
  if v_task.missing is not null then
    return pg_catalog.json_build_object('missing', v_task.missing)::text;
  elsif v_task.id is null or p_rows = '[]'
    or not tock.authorize_archived(p_key, 'admin', v_task.tenant,
      coalesce(v_task.runs -> 0 ->> 'queue', v_task.queue), v_task.options)
  then
    return null;
  end if;
  perform tock.request_erasure(v_task.id, v_task.queue);
  -- they may lie in a later segment than its last run
  delete from tock.steps s where s.task_id = v_task.id;
  v_runs := pg_catalog.jsonb_array_length(v_task.runs);
  perform tock.write_audit_log('erase', v_task.id::text,
    pg_catalog.jsonb_build_object('queue', v_task.queue, 'runs', v_runs));
  return pg_catalog.json_build_object('erased', v_runs)::text;
end $$;

comment on function tock.http_erase_archived is
  'DELETE /v1/tasks/:id/payload for a task that only the archive has: records the erasure, so that the task '
  'is no longer read from there. Returns {erased} or {missing}, null if there is no such task.';
