-- An erasure takes a lock shared, and archived() takes it exclusively. So archived() waits until no erasure
-- is open, and the statements after the lock see what was erased. Without the lock it could record a part
-- with the erased data. The lock lasts until the transaction ends.
create or replace function tock.archived(
  p_path text, p_bytes bigint, p_sha256 text, p_rows integer, p_digest text)
returns boolean language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '5s' as $$
declare
  v_object tock.archive_objects;
  v_archive tock.archives;
  v_rows tock.archive_rows;
  v_file bigint;
begin
  perform tock.check_read_committed('archived');
  if exists (select from tock.archived_files f where f.path = p_path and f.sha256 = p_sha256) then
    return true;
  end if;
  perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(),
    tock.named_key('maintenance_job', 'erasing archived tasks'));
  select o.* into v_object from tock.archive_objects o
  where o.path = p_path and o.state = 'writing' for update;
  if not found then
    perform tock.refuse(409, 'the path ' || coalesce(p_path, 'null') || ' is not reserved, or no longer',
      'path', 'ask for the next part');
  elsif (v_object.rows, v_object.digest) is distinct from (p_rows, p_digest) then
    perform tock.refuse(409, 'the file differs from the part', 'digest', 'write it again');
  end if;
  select a.* into v_archive from tock.archives a
  where a.segment = v_object.segment and a.state = 'exporting' for update;
  if not found or v_archive.parts + 1 <> v_object.part or not tock.is_archiving() then
    perform tock.refuse(409, 'another call has recorded this part, or it is no longer wanted', 'path',
      'ask for the next part');
  end if;
  v_rows := tock.archive_rows(v_object.segment, v_archive.stream, v_archive.position, v_object.last_stream,
    v_object.last_position, v_object.rows + 1, 9223372036854775807);
  if (v_rows.count, v_rows.digest) is distinct from (p_rows, p_digest) then
    perform tock.refuse(409, 'a task of this part has changed meanwhile', 'digest', 'ask for the part again');
  end if;
  insert into tock.archived_files (segment, part, path, bytes, sha256, digest, rows, first_stream,
    first_position,
      last_stream, last_position, first_created_at, last_created_at, queues)
    values (v_object.segment, v_object.part, p_path, p_bytes, p_sha256, p_digest, p_rows, v_archive.stream,
      v_archive.position, v_object.last_stream, v_object.last_position, v_rows.first_created_at,
      v_rows.last_created_at, v_rows.queues)
    returning number into v_file;
  insert into tock.archived_tasks (file, first_position, last_position, filter)
    select v_file, min(b), max(b), tock.filter_of(pg_catalog.array_agg(b)) from unnest(v_rows.begun) b
    group by tock.archive_segment_of(b);
  update tock.archives a set stream = v_object.last_stream, position = v_object.last_position,
    parts = v_object.part, rows = a.rows + p_rows
  where a.segment = v_object.segment;
  delete from tock.archive_objects o where o.path = p_path;
  return true;
end $$;

comment on function tock.archived is
  'Records the file of a part after it was read back and verified; TK409 if it differs from the present '
  'content of the segment, or if another call was first. A repeated call returns the same.';

-- An object that is still being written after an hour has no writer: a Worker runs for at most 15 minutes. An
-- object is marked as unwanted before it is deleted, so that it cannot be recorded as a file in between. A
-- deleted object is deleted again after an hour, because its upload may still have been under way.
create or replace function tock.archive_unwanted(p_limit integer default 20)
returns text[] language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform tock.check_range(p_limit, 1, 1000, 'p_limit');
  update tock.archive_objects o set state = 'unwanted'
  where o.path = any (array(
    select w.path from tock.archive_objects w
    where w.state = 'writing' and w.noted_at < pg_catalog.clock_timestamp() - interval '1 hour'
    order by w.noted_at limit p_limit for update skip locked));
  return array(
    select o.path from tock.archive_objects o
    where o.state = 'unwanted'
      or o.state = 'deleted' and o.noted_at < pg_catalog.clock_timestamp() - interval '1 hour'
    order by o.noted_at limit p_limit);
end $$;

comment on function tock.archive_unwanted is
  'Objects to delete: they are no longer files of the archive, or never were.';

create or replace function tock.archive_deleted(p_paths text[])
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
declare
  v_count integer;
begin
  update tock.archive_objects o set state = 'deleted' where o.path = any (p_paths) and o.state = 'unwanted';
  get diagnostics v_count = row_count;
  delete from tock.archive_objects o
  where o.path = any (p_paths) and o.state = 'deleted'
    and o.noted_at < pg_catalog.clock_timestamp() - interval '1 hour';
  return v_count;
end $$;

comment on function tock.archive_deleted is 'Records that unwanted objects were deleted; returns the number.';

-- An object that was recorded as a file meanwhile stays.
create or replace function tock.archive_abandoned(p_path text)
returns boolean language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
begin
  update tock.archive_objects o set state = 'unwanted' where o.path = p_path and o.state = 'writing';
  return found;
end $$;

comment on function tock.archive_abandoned is
  'Gives up an object that was to become a file; false if it has become one.';
