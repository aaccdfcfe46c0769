-- The runs of a segment between two places, up to p_limit and about p_bytes, with their count and digest. The
-- answer grows row by row and stops at the row that reaches p_bytes. A query for p_limit rows at once could
-- return far more.
create or replace function tock.archive_rows(
  p_segment integer, p_stream integer, p_position bigint, p_last_stream integer, p_last_position bigint,
  p_limit integer, p_bytes bigint)
returns tock.archive_rows language plpgsql volatile
set enable_hashjoin = off set enable_mergejoin = off
set enable_material = off as $$
declare
  v_row record;
  v_rows tock.archive_rows;
  v_texts text[] := '{}';
  v_plain text[] := '{}';
  v_bytes bigint := 0;
  v_text text;
begin
  v_rows.queues := '{}';
  v_rows.begun := '{}';
  for v_row in
    execute pg_catalog.format('select a.* from tock.runs_to_archive_%s($1, $2, $3, $4, $5) a', p_segment)
    using p_stream, p_position, p_last_stream, p_last_position, p_limit
  loop
    v_text := pg_catalog.to_json(v_row.texts)::text;
    v_texts := pg_catalog.array_append(v_texts, v_text);
    v_plain := pg_catalog.array_append(v_plain, pg_catalog.array_to_string(v_row.texts, E'\x1f', E'\x1a'));
    v_rows.last_stream := v_row.stream;
    v_rows.last_position := v_row.position;
    v_rows.first_created_at := least(v_rows.first_created_at, v_row.created_at);
    v_rows.last_created_at := greatest(v_rows.last_created_at, v_row.created_at);
    if v_row.queue <> all (v_rows.queues) then
      v_rows.queues := v_rows.queues || v_row.queue;
    end if;
    if v_row.begun is not null then
      v_rows.begun := v_rows.begun || tock.position_of(v_row.begun);
    end if;
    v_bytes := v_bytes + pg_catalog.octet_length(v_text);
    exit when v_bytes >= p_bytes;
  end loop;
  v_rows.count := pg_catalog.cardinality(v_texts);
  v_rows.digest := pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(
    pg_catalog.array_to_string(v_plain, E'\x1e'), 'UTF8')), 'hex');
  v_rows.texts := '[' || pg_catalog.array_to_string(v_texts, ',') || ']';
  return v_rows;
end $$;

-- Two concurrent calls get the same part and both write it. The call that records its file second gets TK409.
create or replace function tock.archive_part(p_limit integer default 10000, p_bytes bigint default 4194304)
returns table (segment integer, part integer, path text, count integer, digest text, rows text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_segment tock.segments;
  v_archive tock.archives;
  v_rows tock.archive_rows;
begin
  perform tock.check_range(p_limit, 1, 100000, 'p_limit');
  if p_bytes is null or p_bytes < 1 then
    perform tock.refuse(422, 'p_bytes must be a positive number', 'p_bytes');
  end if;
  for v_segment in
    select e.* from tock.segments e
    where tock.is_archiving() and tock.is_past_retention(e)
      and not exists (select from tock.archives a where a.segment = e.number and a.state = 'verified')
    order by e.number limit 4
  loop
    insert into tock.archives (segment, first_position, end_position)
      values (v_segment.number, v_segment.first_position, v_segment.end_position)
      on conflict do nothing;
    select a.* into v_archive from tock.archives a where a.segment = v_segment.number;
    v_rows := tock.archive_rows(v_segment.number, v_archive.stream, v_archive.position, 1048575,
      v_segment.end_position, p_limit, p_bytes);
    if v_rows.count > 0 then
      segment := v_segment.number; part := v_archive.parts + 1; count := v_rows.count;
      digest := v_rows.digest;
      rows := v_rows.texts;
      path := pg_catalog.format('%s/segment=%s/part-%s.%s.parquet',
        (select a.prefix from tock.archive a), segment,
        pg_catalog.lpad(part::text, 5, '0'), pg_catalog.substr(pg_catalog.gen_random_uuid()::text, 1, 8));
      insert into tock.archive_objects (path, segment, part, rows, digest, last_stream, last_position)
        values (path, segment, part, count, digest, v_rows.last_stream, v_rows.last_position);
      return next;
      return;
    end if;
    -- another call may have exported more of the segment meanwhile
    select a.* into v_archive from tock.archives a
    where a.segment = v_segment.number and a.state = 'exporting'
      and (a.stream, a.position) = (v_archive.stream, v_archive.position) for update;
    if found then
      perform tock.verify_archive(v_archive);
    end if;
  end loop;
end $$;

comment on function tock.archive_part is
  'The next part of the oldest segment past its retention: its runs as texts, their digest, and the path '
  'reserved for its file; no row if nothing is due. A segment whose parts are all recorded is verified on '
  'the way.';
