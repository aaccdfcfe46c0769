-- The bits of a number in a Bloom filter with p_bits bits. A Bloom filter (B. H. Bloom, Space/time trade-offs
-- in hash coding with allowable errors, 1970). With 16 bits and 4 hashes for each number, about one of 400
-- other numbers matches too.
create or replace function tock.filter_bits(p_value bigint, p_bits bigint)
returns setof bigint language sql immutable as $$
  select (pg_catalog.hashint8extended(p_value, n) & 9223372036854775807) % p_bits
  from pg_catalog.generate_series(1, 4) n
$$;

-- A Bloom filter of the numbers.
create or replace function tock.filter_of(p_values bigint[])
returns bytea language sql immutable as $$
  select pg_catalog.string_agg(pg_catalog.set_byte('\x00', 0, coalesce(b.bits, 0)), '' order by n)
  from pg_catalog.generate_series(0, 2 * pg_catalog.cardinality(p_values) - 1) n
  left join (
    select i / 8 as byte, bit_or(1 << (i % 8)::integer) as bits
    from unnest(p_values) v cross join tock.filter_bits(v, 16 * pg_catalog.cardinality(p_values)) i
    group by 1) b on b.byte = n
$$;

-- True if a number may be in a Bloom filter.
create or replace function tock.may_contain(p_filter bytea, p_value bigint)
returns boolean language sql immutable as $$
  select not exists (
    select from tock.filter_bits(p_value, 8 * pg_catalog.octet_length(p_filter)) i
    where pg_catalog.get_bit(p_filter, i) = 0)
$$;

-- The files of the archive that may hold later runs of the task that began at a position.
create or replace function tock.files_of_begun(p_position bigint)
returns setof tock.archived_files language sql stable as $$
  select f.* from tock.archived_files f
  where f.number in (
    select t.file from tock.archived_tasks t
    where pg_catalog.int8range(t.first_position, t.last_position, '[]') @> p_position
      and (t.filter is null or tock.may_contain(t.filter, p_position)))
$$;

-- The file of the archive whose range covers a run.
create or replace function tock.file_of_run(p_id bigint)
returns setof tock.archived_files language sql stable as $$
  select l.* from (
    select f.* from tock.archived_files f
    where f.segment = tock.archive_segment_of(tock.position_of(p_id))
      and (f.first_stream, f.first_position) < (tock.stream_of(p_id), tock.position_of(p_id))
    order by f.first_stream desc, f.first_position desc limit 1) l
  where (l.last_stream, l.last_position) >= (tock.stream_of(p_id), tock.position_of(p_id))
$$;

-- The files of the archive that may hold a run of a task, or the run that its waiting row became; at most
-- 101, one more than a look-up reads. The id of a waiting task means the run that it became, which is in a
-- file with later runs of the task. Only whole segments are listed: the files of others may be incomplete. A
-- segment that is verified but not yet dropped is listed too, because its drop begins with the promotions
-- that lead to its runs.
create or replace function tock.files_of(p_id bigint, p_task_id bigint)
returns setof tock.archived_files language plpgsql stable as $$
begin
  if tock.stream_of(p_id) = 0 then
    return query
      select f.* from tock.files_of_begun(tock.position_of(p_task_id)) f
      join tock.archives a on a.segment = f.segment and a.state in ('verified', 'dropped')
        and a.end_position > tock.position_of(p_id)
      order by f.segment, f.part limit 101;
  else
    return query select f.* from tock.file_of_run(p_id) f;
  end if;
end $$;

-- The number of the present or former segment of a position; 0 if it is unknown.
create or replace function tock.archive_segment_of(p_position bigint)
returns integer language plpgsql stable as $$
begin
  return coalesce(tock.segment_of(p_position), (
    select n.segment from (
      select a.segment, a.end_position from tock.archives a
      where a.first_position <= p_position order by a.first_position desc limit 1) n
    where p_position < n.end_position), 0);
end $$;
