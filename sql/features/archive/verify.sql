-- Marks a segment as verified if its files hold all of its runs, and otherwise starts its export again. All
-- parts are recorded by now: together they must hold all runs of the segment.
create or replace function tock.verify_archive(p_archive tock.archives)
returns void language plpgsql volatile
set enable_seqscan = on as $$
declare
  v_runs bigint;
  v_filed bigint := (select coalesce(sum(f.rows), 0) from tock.archived_files f
    where f.segment = p_archive.segment);
begin
  execute pg_catalog.format('select count(*) from tock.runs_%s', p_archive.segment) into v_runs;
  if v_runs = v_filed and p_archive.rows = v_filed then
    update tock.archives a set state = 'verified', verified_at = pg_catalog.clock_timestamp()
    where a.segment = p_archive.segment;
  else
    perform tock.forget_archive(p_archive.segment);
    perform tock.record_archive_step(pg_catalog.format(
      'segment %s has %s runs but its files have %s: the export starts again', p_archive.segment,
      v_runs, v_filed));
  end if;
end $$;

-- Removes the files of a segment from the archive. The files of the segment become unwanted. If the segment
-- still exists, its export starts again; otherwise its history is lost.
create or replace function tock.forget_archive(p_segment integer)
returns void language plpgsql volatile as $$
begin
  insert into tock.archive_objects (path, state, segment, part)
    select f.path, 'unwanted', f.segment, f.part from tock.archived_files f where f.segment = p_segment
    on conflict (path) do update set state = 'unwanted';
  update tock.archive_objects o set state = 'unwanted' where o.segment = p_segment and o.state = 'writing';
  delete from tock.archived_files f where f.segment = p_segment;
  delete from tock.archives a where a.segment = p_segment;
end $$;

-- Records that a segment now exists only in the archive; removes the rest of one that is not completely
-- there.
create or replace function tock.record_archive_dropped(p_segment integer)
returns void language plpgsql volatile as $$
begin
  update tock.archives a set state = 'dropped', dropped_at = pg_catalog.clock_timestamp()
  where a.segment = p_segment and a.state = 'verified';
  if not found then
    perform tock.forget_archive(p_segment);
  end if;
end $$;
