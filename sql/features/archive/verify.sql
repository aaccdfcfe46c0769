-- All parts are there: what they hold must be all that the epoch holds.
create or replace function tock.verify_archive(p_archive tock.archives)
returns void
language plpgsql
volatile
set enable_seqscan = on
as $$
declare
  v_runs bigint;
  v_filed bigint := (select coalesce(sum(f.rows), 0) from tock.archived_files f
    where f.epoch = p_archive.epoch);
begin
  execute pg_catalog.format('select count(*) from tock.runs_%s', p_archive.epoch) into v_runs;
  if v_runs = v_filed and p_archive.rows = v_filed then
    update tock.archives a set state = 'verified', verified_at = pg_catalog.clock_timestamp()
    where a.epoch = p_archive.epoch;
  else
    perform tock.forget_archive(p_archive.epoch);
    perform tock.archive_stepped(pg_catalog.format(
      'epoch %s has %s runs and its files have %s: it is exported anew', p_archive.epoch, v_runs, v_filed));
  end if;
end $$;

comment on function tock.verify_archive is
  'Calls an epoch verified whose files hold all of its runs, and begins anew with one of which '
  'that can''t be said.';

create or replace function tock.begin_archive(p_epoch tock.epochs)
returns tock.archives
language plpgsql
volatile
as $$
declare
  v_archive tock.archives;
begin
  insert into tock.archives (epoch, first_position, end_position)
    values (p_epoch.number, p_epoch.first_position, p_epoch.end_position)
    on conflict do nothing;
  select a.* into v_archive from tock.archives a where a.epoch = p_epoch.number;
  return v_archive;
end $$;

comment on function tock.begin_archive is 'An epoch''s row in the archive, made where there is none.';

-- Its files are unwanted from now on. Where the epoch is still there it is done anew; else
-- that was all there will be.
create or replace function tock.forget_archive(p_epoch integer)
returns void
language plpgsql
volatile
as $$
begin
  insert into tock.archive_objects (path, state, epoch, part)
    select f.path, 'unwanted', f.epoch, f.part from tock.archived_files f where f.epoch = p_epoch
    on conflict (path) do update set state = 'unwanted';
  update tock.archive_objects o set state = 'unwanted' where o.epoch = p_epoch and o.state = 'writing';
  delete from tock.archived_files f where f.epoch = p_epoch;
  delete from tock.archives a where a.epoch = p_epoch;
end $$;

comment on function tock.forget_archive is 'Takes an epoch''s files out of the archive.';

create or replace function tock.archive_dropped(p_epoch integer)
returns void
language plpgsql
volatile
as $$
begin
  update tock.archives a set state = 'dropped', dropped_at = pg_catalog.clock_timestamp()
  where a.epoch = p_epoch and a.state = 'verified';
  if not found then
    perform tock.forget_archive(p_epoch);
  end if;
end $$;

comment on function tock.archive_dropped is
  'Notes that an epoch is in the archive only, from now on; one that is not there leaves nothing behind.';
