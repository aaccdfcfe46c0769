-- A run as the archive has it: texts, in this order, which functions/archive/columns.ts has too. JSON is PostgreSQL's own
-- text, times are microseconds. A retry that waited stays what waited: what it became may be gone by now.
-- $1 and $2 the stream and position to go on after, $3 and $4 the last ones, $5 how many
create or replace function tock.archive_statement(p_epoch integer)
returns text
language sql
immutable
as $$
  select pg_catalog.format($q$
    select r.stream, r.position, r.task_id as begun, r.created_at, s.queue, array[
      (r.position << 20 | r.stream)::text, coalesce(r.task_id, r.position << 20 | r.stream)::text,
      d.next_id::text, s.queue, d.state, s.priority::text, r.tenant, r.attempt::text,
      r.max_attempts::text, r.lost::text, tock.micros(r.created_at), tock.micros(l.claimed_at), tock.micros(l.leased_until),
      tock.micros(d.ended_at), l.worker, r.payload::text, e.result::text, nullif(e.error, 'null')::text, r.options::text,
      g.progress::text, g.note, d.cancel_requested::text,
      (select x.of_id from tock.reruns x where x.id = coalesce(r.task_id, r.position << 20 | r.stream) limit 1)::text] as texts
    from (
      select u.* from tock.runs_%1$s u
      where (u.stream, u.position) > ($1, $2) and (u.stream, u.position) <= ($3, $4)
      order by u.stream, u.position limit $5) r
    join tock.streams s on s.number = r.stream
    %2$s
    left join lateral (
      select g.progress, g.note from tock.progress g
      where g.position = any (array[r.position, l.after_position + 1]) and g.stream = r.stream
        and (g.of_all or g.position = r.position)
      order by g.told_at desc limit 1) g on l.stream is not null
    order by r.stream, r.position$q$, p_epoch, tock.standing(p_epoch))
$$;

comment on function tock.archive_statement is 'The statement that gives an epoch''s runs as the archive has them, in the order of stream and position.';

-- Not by a bigint: timestamptz reaches 2,000 years further than its microseconds.
create or replace function tock.micros(p_at timestamptz)
returns text
language sql
immutable
as $$
  select case when pg_catalog.isfinite(p_at) then pg_catalog.trim_scale(extract(epoch from p_at) * 1000000)::text end
$$;

comment on function tock.micros is 'A time in microseconds since 1970, as the archive has it; null for infinity.';

-- Row by row, as what comes next may be large: it ends with the row by which p_bytes are passed.
create or replace function tock.archive_rows(
  p_epoch integer, p_stream integer, p_position bigint, p_last_stream integer, p_last_position bigint, p_limit integer, p_bytes bigint)
returns tock.archive_rows
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
as $$
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
  for v_row in execute tock.archive_statement(p_epoch) using p_stream, p_position, p_last_stream, p_last_position, p_limit loop
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
      v_rows.begun := v_rows.begun || (v_row.begun >> 20);
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

comment on function tock.archive_rows is 'The runs of an epoch after a place in it, up to another, up to p_limit and about p_bytes, and what they come to.';

-- Two who ask at once are given the same part, and write it twice: the one who comes second with it is told.
create or replace function tock.archive_part(p_limit integer default 10000, p_bytes bigint default 4194304)
returns table (epoch integer, part integer, path text, count integer, digest text, rows text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_epoch tock.epochs;
  v_archive tock.archives;
  v_rows tock.archive_rows;
begin
  if p_limit is null or p_limit not between 1 and 100000 then
    perform tock.refuse(422, 'p_limit is a whole number from 1 to 100000', 'p_limit');
  elsif p_bytes is null or p_bytes < 1 then
    perform tock.refuse(422, 'p_bytes is a positive number', 'p_bytes');
  end if;
  for v_epoch in
    select e.* from tock.epochs e
    where tock.is_archiving() and tock.is_past_retention(e)
      and not exists (select from tock.archives a where a.epoch = e.number and a.state = 'verified')
    order by e.number limit 4
  loop
    v_archive := tock.begin_archive(v_epoch);
    v_rows := tock.archive_rows(v_epoch.number, v_archive.stream, v_archive.position, 1048575, v_epoch.end_position, p_limit, p_bytes);
    if v_rows.count > 0 then
      epoch := v_epoch.number; part := v_archive.parts + 1; count := v_rows.count; digest := v_rows.digest; rows := v_rows.texts;
      path := pg_catalog.format('%s/epoch=%s/part-%s.%s.parquet', (select a.prefix from tock.archive a), epoch,
        pg_catalog.lpad(part::text, 5, '0'), pg_catalog.substr(pg_catalog.gen_random_uuid()::text, 1, 8));
      insert into tock.archive_objects (path, epoch, part, rows, digest, last_stream, last_position)
        values (path, epoch, part, count, digest, v_rows.last_stream, v_rows.last_position);
      return next;
      return;
    end if;
    -- somebody else may have come further with it meanwhile
    select a.* into v_archive from tock.archives a where a.epoch = v_epoch.number and a.state = 'exporting'
      and (a.stream, a.position) = (v_archive.stream, v_archive.position) for update;
    if found then
      perform tock.verify_archive(v_archive);
    end if;
  end loop;
end $$;

comment on function tock.archive_part is
  'The next part of the oldest epoch that is past its retention: its runs as texts, their digest, and the path noted for its file; no row when nothing is due. An epoch whose parts are all there is verified on the way.';
