create or replace function tock.request_erasure(p_task_id bigint, p_queue text)
returns void
language plpgsql
volatile
as $$
begin
  insert into tock.archive_erasures (task_id, queue) values (p_task_id, p_queue)
    on conflict (task_id) do update set erased_at = null, tried_at = null, file = 0;
end $$;

comment on function tock.request_erasure is 'Notes that a task is to be erased from the archive.';

create or replace function tock.files_to_erase(p_erasure tock.archive_erasures)
returns setof tock.archived_files
language sql
stable
as $$
  select f.* from tock.files_of_begun(tock.position_of(p_erasure.task_id)) f where f.number > p_erasure.file
  union
  select f.* from tock.file_of_run(p_erasure.task_id) f
  where f.number > p_erasure.file and tock.stream_of(p_erasure.task_id) <> 0
$$;

comment on function tock.files_to_erase is
  'The archive''s files that may hold runs of a task that is to be erased, and have not been looked at.';

-- What was not tried yet comes first, then what was tried longest ago: one that can't be done is
-- in no other's way.
create or replace function tock.archive_erasing(p_limit integer default 4)
returns table (task_id bigint, files jsonb, erased bigint[])
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_erasure tock.archive_erasures;
begin
  if p_limit is null or p_limit not between 1 and 100 then
    perform tock.refuse(422, 'p_limit is a whole number from 1 to 100', 'p_limit');
  end if;
  update tock.archive_erasures e set tried_at = pg_catalog.clock_timestamp()
  where e.task_id = (
    select n.task_id from tock.archive_erasures n
    where n.erased_at is null order by n.tried_at nulls first, n.task_id limit 1 for update skip locked)
  returning e.* into v_erasure;
  if found then
    task_id := v_erasure.task_id;
    files := (
      select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('number', f.number, 'path', f.path)
        order by f.number), '[]')
      from (select t.* from tock.files_to_erase(v_erasure) t order by t.number limit p_limit) f);
    erased := array(select e.task_id from tock.archive_erasures e where e.erased_at is null
      order by e.task_id limit 10000)
      || task_id;
    return next;
  end if;
end $$;

comment on function tock.archive_erasing is
  'The task whose turn it is to be erased from the archive, the next files that may hold runs of it, and all '
  'tasks that are to be; no row when there is none.';

create or replace function tock.archive_erased(p_task_id bigint, p_file bigint)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_erasure tock.archive_erasures;
begin
  update tock.archive_erasures e set file = greatest(e.file, p_file)
  where e.task_id = p_task_id and e.erased_at is null
  returning e.* into v_erasure;
  if not found or exists (select from tock.files_to_erase(v_erasure)) then
    return false;
  end if;
  update tock.archive_erasures e set erased_at = pg_catalog.clock_timestamp() where e.task_id = p_task_id;
  return true;
end $$;

comment on function tock.archive_erased is
  'Notes that none of the files up to one hold more of a task than they may: true when that were all '
  'of them.';

create or replace function tock.archive_rewriting(p_path text)
returns text
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  insert into tock.archive_objects (path, segment, part)
  select substring(f.path from '^(.*/part-\d+)\.') || '.'
    || pg_catalog.substr(pg_catalog.gen_random_uuid()::text, 1, 8) || '.parquet',
    f.segment, f.part
  from tock.archived_files f where f.path = p_path
  returning path
$$;

comment on function tock.archive_rewriting is
  'The path noted for a file that is to stand for another one; null when that is no file any more.';

-- The old object is unwanted by the same statement that puts the new one in its place.
create or replace function tock.archive_rewritten(
  p_path text, p_new text, p_bytes bigint, p_sha256 text, p_digest text)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
begin
  if exists (select from tock.archived_files f where f.path = p_new and f.sha256 = p_sha256) then
    return true;
  end if;
  perform 1 from tock.archive_objects o where o.path = p_new and o.state = 'writing' for update;
  if not found then
    perform tock.refuse(409, 'nobody is to write ' || coalesce(p_new, 'null') || ', or no more',
      'path', 'begin anew');
  end if;
  update tock.archived_files f set path = p_new, bytes = p_bytes, sha256 = p_sha256, digest = p_digest
  where f.path = p_path;
  if not found then
    perform tock.refuse(409, 'somebody else has rewritten this file', 'path', 'begin anew');
  end if;
  delete from tock.archive_objects o where o.path = p_new;
  insert into tock.archive_objects (path, state, segment, part)
    select p_path, 'unwanted', f.segment, f.part from tock.archived_files f where f.path = p_new;
  return true;
end $$;

comment on function tock.archive_rewritten is
  'Puts a file in the place of another from which tasks were erased; TK409 when somebody was first. A '
  'repeated call answers the same.';

create or replace function tock.archive_emptied(p_options text[])
returns text[]
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select tock.without_secrets(o.options::jsonb)::text
    from unnest(p_options) with ordinality o (options, n) order by o.n);
exception
  when invalid_text_representation or untranslatable_character or invalid_parameter_value then
    perform tock.refuse(422, 'p_options are objects as JSON text', 'p_options');
end $$;

comment on function tock.archive_emptied is 'What is left of the options of erased runs.';
