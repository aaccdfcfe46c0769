-- Not beside an erasure: what that has emptied already, and nobody sees yet, would be recorded as it was. Shared by
-- those who erase; it lasts to the end of the transaction.
create or replace function tock.lock_archive(p_alone boolean)
returns void
language plpgsql
volatile
as $$
begin
  if p_alone then
    perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(), tock.named_key('duty', 'erasing archived tasks'));
  else
    perform pg_catalog.pg_advisory_xact_lock_shared(tock.lock_space(), tock.named_key('duty', 'erasing archived tasks'));
  end if;
end $$;

comment on function tock.lock_archive is 'Keeps who records a part of the archive (p_alone) and who erases tasks apart.';

-- In statements after the lock, so that each sees what was committed before it.
create or replace function tock.archived(p_path text, p_bytes bigint, p_sha256 text, p_rows integer, p_digest text)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
  v_object tock.archive_objects;
  v_archive tock.archives;
  v_rows tock.archive_rows;
  v_file bigint;
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform tock.refuse(409, 'the archive is written in read committed transactions', 'path');
  end if;
  if exists (select from tock.archived_files f where f.path = p_path and f.sha256 = p_sha256) then
    return true;
  end if;
  perform tock.lock_archive(true);
  select o.* into v_object from tock.archive_objects o where o.path = p_path and o.state = 'writing' for update;
  if not found then
    perform tock.refuse(409, 'nobody is to write ' || coalesce(p_path, 'null') || ', or no more', 'path', 'ask for the next part');
  elsif (v_object.rows, v_object.digest) is distinct from (p_rows, p_digest) then
    perform tock.refuse(409, 'the file is not what the part was', 'digest', 'write it anew');
  end if;
  select a.* into v_archive from tock.archives a where a.epoch = v_object.epoch and a.state = 'exporting' for update;
  if not found or v_archive.parts + 1 <> v_object.part or not tock.is_archiving() then
    perform tock.refuse(409, 'this part was written by somebody else, or is not wanted any more', 'path', 'ask for the next part');
  end if;
  v_rows := tock.archive_rows(v_object.epoch, v_archive.stream, v_archive.position, v_object.last_stream,
    v_object.last_position, v_object.rows + 1, 9223372036854775807);
  if (v_rows.count, v_rows.digest) is distinct from (p_rows, p_digest) then
    perform tock.refuse(409, 'a task of this part was changed meanwhile', 'digest', 'ask for the part again');
  end if;
  insert into tock.archived_files (epoch, part, path, bytes, sha256, digest, rows, first_stream, first_position,
      last_stream, last_position, first_created_at, last_created_at, queues)
    values (v_object.epoch, v_object.part, p_path, p_bytes, p_sha256, p_digest, p_rows, v_archive.stream, v_archive.position,
      v_object.last_stream, v_object.last_position, v_rows.first_created_at, v_rows.last_created_at, v_rows.queues)
    returning number into v_file;
  insert into tock.archived_tasks (file, first_position, last_position, filter)
    select v_file, min(b), max(b), tock.filter_of(pg_catalog.array_agg(b)) from unnest(v_rows.begun) b
    group by tock.archive_epoch_of(b);
  update tock.archives a set stream = v_object.last_stream, position = v_object.last_position, parts = v_object.part,
    rows = a.rows + p_rows
  where a.epoch = v_object.epoch;
  delete from tock.archive_objects o where o.path = p_path;
  return true;
end $$;

comment on function tock.archived is
  'Records a part''s file that was read back and found whole; TK409 when it isn''t what the epoch holds now, or somebody was first. A repeated call answers the same.';

create or replace function tock.archive_epoch_of(p_position bigint)
returns integer
language plpgsql
stable
as $$
begin
  return coalesce(tock.epoch_of(p_position), (
    select n.epoch from (
      select a.epoch, a.end_position from tock.archives a
      where a.first_position <= p_position order by a.first_position desc limit 1) n
    where p_position < n.end_position), 0);
end $$;

comment on function tock.archive_epoch_of is 'The number of the epoch that a position lies or lay in; 0 when none is known.';

-- B. H. Bloom, Space/time trade-offs in hash coding with allowable errors (1970): with 16 bits and 4 hashes for each, one
-- of 400 others is let through.
create or replace function tock.filter_bits(p_value bigint, p_bits bigint)
returns setof bigint
language sql
immutable
as $$
  select (pg_catalog.hashint8extended(p_value, n) & 9223372036854775807) % p_bits from pg_catalog.generate_series(1, 4) n
$$;

comment on function tock.filter_bits is 'The bits that stand for a number in a filter of so many.';

create or replace function tock.filter_of(p_values bigint[])
returns bytea
language sql
immutable
as $$
  select pg_catalog.string_agg(pg_catalog.set_byte('\x00', 0, coalesce(b.bits, 0)), '' order by n)
  from pg_catalog.generate_series(0, 2 * pg_catalog.cardinality(p_values) - 1) n
  left join (
    select i / 8 as byte, bit_or(1 << (i % 8)::integer) as bits
    from unnest(p_values) v cross join tock.filter_bits(v, 16 * pg_catalog.cardinality(p_values)) i
    group by 1) b on b.byte = n
$$;

comment on function tock.filter_of is 'A filter that lets through what is among the numbers, and little else.';

create or replace function tock.lets_through(p_filter bytea, p_value bigint)
returns boolean
language sql
immutable
as $$
  select not exists (
    select from tock.filter_bits(p_value, 8 * pg_catalog.octet_length(p_filter)) i
    where pg_catalog.get_bit(p_filter, i) = 0)
$$;

comment on function tock.lets_through is 'Whether a number may be among those of a filter.';

create or replace function tock.files_of_begun(p_position bigint)
returns setof tock.archived_files
language sql
stable
as $$
  select f.* from tock.archived_files f
  where f.number in (
    select t.file from tock.archived_tasks t
    where pg_catalog.int8range(t.first_position, t.last_position, '[]') @> p_position
      and (t.filter is null or tock.lets_through(t.filter, p_position)))
$$;

comment on function tock.files_of_begun is 'The archive''s files that may hold later runs of what began at a position.';

create or replace function tock.file_of_run(p_id bigint)
returns setof tock.archived_files
language sql
stable
as $$
  select l.* from (
    select f.* from tock.archived_files f
    where f.epoch = tock.archive_epoch_of(p_id >> 20)
      and (f.first_stream, f.first_position) < ((p_id & 1048575)::integer, p_id >> 20)
    order by f.first_stream desc, f.first_position desc limit 1) l
  where (l.last_stream, l.last_position) >= ((p_id & 1048575)::integer, p_id >> 20)
$$;

comment on function tock.file_of_run is 'The archive''s file in whose range a run lies.';

-- What waited has become a run of its task since; what is still here as well is found here, and may not be there as a whole.
create or replace function tock.files_of(p_id bigint, p_task_id bigint)
returns setof tock.archived_files
language plpgsql
stable
as $$
begin
  if p_id & 1048575 = 0 then
    return query
      select f.* from tock.files_of_begun(p_task_id >> 20) f
      join tock.archives a on a.epoch = f.epoch and a.state = 'dropped' and a.end_position > p_id >> 20
      order by f.epoch, f.part limit 101;
  else
    return query select f.* from tock.file_of_run(p_id) f;
  end if;
end $$;

comment on function tock.files_of is
  'The archive''s files that may hold a run of a task, or what its waiting entry became: 101 where they are more than a look-up reads.';

-- A writer that is still at it after an hour is none: an invocation of a Worker lasts 15 minutes at most. Said to be
-- unwanted first, as what is recorded in between must not be deleted. What was deleted while its put may have been on
-- its way is deleted once more then.
create or replace function tock.archive_unwanted(p_limit integer default 20)
returns text[]
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_limit is null or p_limit not between 1 and 1000 then
    perform tock.refuse(422, 'p_limit is a whole number from 1 to 1000', 'p_limit');
  end if;
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

comment on function tock.archive_unwanted is 'Objects that are to be deleted: no file of the archive any more, or never one.';

create or replace function tock.archive_deleted(p_paths text[])
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count integer;
begin
  update tock.archive_objects o set state = 'deleted' where o.path = any (p_paths) and o.state = 'unwanted';
  get diagnostics v_count = row_count;
  delete from tock.archive_objects o
  where o.path = any (p_paths) and o.state = 'deleted' and o.noted_at < pg_catalog.clock_timestamp() - interval '1 hour';
  return v_count;
end $$;

comment on function tock.archive_deleted is 'Notes that unwanted objects have been deleted; returns how many.';

-- What has been recorded meanwhile stays.
create or replace function tock.archive_abandoned(p_path text)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update tock.archive_objects o set state = 'unwanted' where o.path = p_path and o.state = 'writing';
  return found;
end $$;

comment on function tock.archive_abandoned is 'Gives up an object that was to become a file; false when it is one.';
