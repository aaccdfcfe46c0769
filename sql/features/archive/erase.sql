-- Records that a task is to be erased from the archive.
create or replace function tock.request_erasure(p_task_id bigint, p_queue text)
returns void language plpgsql volatile as $$
begin
  insert into tock.archive_erasures (task_id, queue) values (p_task_id, p_queue)
    on conflict (task_id) do update set erased_at = null, tried_at = null, file = 0;
end $$;

-- The files of the archive that may hold runs of a task to erase and were not read for it yet.
create or replace function tock.files_to_erase(p_erasure tock.archive_erasures)
returns setof tock.archived_files language sql stable as $$
  select f.* from tock.files_of_begun(tock.position_of(p_erasure.task_id)) f where f.number > p_erasure.file
  union
  select f.* from tock.file_of_run(p_erasure.task_id) f
  where f.number > p_erasure.file and tock.stream_of(p_erasure.task_id) <> 0
$$;

-- Untried erasures come first, then the one tried longest ago, so that a failing erasure does not block the
-- others.
create or replace function tock.archive_erasing(p_limit integer default 4)
returns table (task_id bigint, files jsonb, erased bigint[]) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_erasure tock.archive_erasures;
begin
  perform tock.check_range(p_limit, 1, 100, 'p_limit');
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
  'The next task to erase from the archive, the next files that may hold its runs, and all tasks to erase; '
  'no row if there is none.';

create or replace function tock.archive_erased(p_task_id bigint, p_file bigint)
returns boolean language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
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
  'Records that the files up to p_file no longer hold the data of an erased task; true after the last file.';

create or replace function tock.archive_rewriting(p_path text)
returns text language sql volatile security definer
set search_path = pg_catalog, pg_temp as $$
  insert into tock.archive_objects (path, segment, part)
  select substring(f.path from '^(.*/part-\d+)\.') || '.'
    || pg_catalog.substr(pg_catalog.gen_random_uuid()::text, 1, 8) || '.parquet',
    f.segment, f.part
  from tock.archived_files f where f.path = p_path
  returning path
$$;

comment on function tock.archive_rewriting is
  'The reserved path of a file that will replace another one; null if that file no longer exists.';

-- One transaction records the new object and marks the old one as unwanted.
create or replace function tock.archive_rewritten(
  p_path text, p_new text, p_bytes bigint, p_sha256 text, p_digest text)
returns boolean language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s' as $$
begin
  if exists (select from tock.archived_files f where f.path = p_new and f.sha256 = p_sha256) then
    return true;
  end if;
  perform 1 from tock.archive_objects o where o.path = p_new and o.state = 'writing' for update;
  if not found then
    perform tock.refuse(409, 'the path ' || coalesce(p_new, 'null') || ' is not reserved, or no longer',
      'path', 'start again');
  end if;
  update tock.archived_files f set path = p_new, bytes = p_bytes, sha256 = p_sha256, digest = p_digest
  where f.path = p_path;
  if not found then
    perform tock.refuse(409, 'another call has already rewritten this file', 'path', 'start again');
  end if;
  delete from tock.archive_objects o where o.path = p_new;
  insert into tock.archive_objects (path, state, segment, part)
    select p_path, 'unwanted', f.segment, f.part from tock.archived_files f where f.path = p_new;
  return true;
end $$;

comment on function tock.archive_rewritten is
  'Replaces a file with one from which tasks were erased; TK409 if another call was first. A repeated call '
  'returns the same.';

create or replace function tock.archive_emptied(p_options text[])
returns text[] language plpgsql stable security definer
set search_path = pg_catalog, pg_temp as $$
begin
  return array(
    select tock.without_secrets(o.options::jsonb)::text
    from unnest(p_options) with ordinality o (options, n) order by o.n);
exception
  when invalid_text_representation or untranslatable_character or invalid_parameter_value then
    perform tock.refuse(422, 'each of p_options must be a JSON object as text', 'p_options');
end $$;

comment on function tock.archive_emptied is 'The options of erased runs without their secrets.';
