-- Findings about the archive: failing steps, segments that have waited for it for a day, and pending
-- erasures. A day of waiting means 1,440 failed or missing steps, with a trigger once a minute.
create or replace function tock.doctor_of_archive()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  select 'the archive fails', 'critical',
    pg_catalog.format('%s in a row, the last at %s: %s', tock.some(a.failures, 'step'),
      tock.utc(a.failed_at), a.last_error),
    'fix the reported error; POST /v1/archive/step, or tock archive run, tries again. Until then, history '
    'stays in the database'
  from tock.archive a where a.enabled and a.failures > 0
  union all
  select 'the archive is behind', 'warning',
    pg_catalog.format('%s for the archive, the oldest closed since %s; the last step was %s',
      tock.some(w.waiting, 'segment waits', 'segments wait'), tock.utc(w.oldest_waiting_at),
      coalesce('at ' || tock.utc(w.last_step_at), 'never')),
    case when w.last_step_at > pg_catalog.clock_timestamp() - interval '1 hour'
      then 'its steps are too small or too few: run tock archive run until nothing is left'
      else 'no caller runs its steps: check that the Worker has a store (binding ARCHIVE, or '
        'TOCK_ARCHIVE_URL) and a cron trigger, or call POST /v1/archive/step' end
  from tock.archive() w
  where w.enabled and w.failures = 0 and exists (
    select from tock.segments e
    where tock.is_past_retention(e) and not exists (
      select from tock.archives s where s.segment = e.number and s.state = 'verified')
      and e.closed_at < pg_catalog.clock_timestamp() - interval '1 day' - (
        select max((tock.policy(q)).retention_seconds) from unnest(e.queues) q) * interval '1 second')
  union all
  select 'an erasure waits for the archive', 'warning',
    pg_catalog.format('%s erased tasks are still in its files, the oldest since %s', count(*),
      tock.utc(min(e.noted_at))),
    'they are no longer shown; POST /v1/archive/step, or tock archive run, rewrites the files'
  from tock.archive_erasures e where e.erased_at is null
    and e.noted_at < pg_catalog.clock_timestamp() - interval '1 day'
  having count(*) > 0
$$;
