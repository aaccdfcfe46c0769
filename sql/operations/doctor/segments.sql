-- An epoch may be unsettled for as long as a task takes; but after a day it fills the disk.
create or replace function tock.doctor_of_epochs()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  select 'an epoch does not settle', 'warning',
    pg_catalog.format('epoch %s, over since %s, as %s; %s kept', o.number,
      pg_catalog.to_char(o.over_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), w.why, tock.some(o.epochs, 'epoch is', 'epochs are')), w.hint
  from (
    select e.number, n.started_at as over_at, e as epoch, (select count(*) from tock.epochs c where c.number <= n.number) as epochs
    from tock.epochs e join tock.epochs n on n.number = e.number + 1
    where e.settled_at is null and n.started_at < pg_catalog.clock_timestamp() - interval '1 day'
    order by e.number limit 1) o
  cross join lateral tock.why_unsettled(o.epoch) w
  union all
  (select 'history is not dropped', 'warning',
    pg_catalog.format('epoch %s, settled since %s, tried %s', e.number,
      pg_catalog.to_char(e.settled_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), tock.some(e.drop_tries, 'time')),
    'somebody reads Tock''s tables all the time, in long transactions: find out who in pg_locks, then select tock.run_duty(''retain'')'
  from tock.epochs e
  where e.settled_at is not null and tock.may_be_dropped(e.number) and (e.drop_tries >= 8 or e.settled_at < pg_catalog.clock_timestamp() - interval '1 day' - (
    select max((tock.policy(q)).retention_seconds) from unnest(e.queues) q) * interval '1 second')
  order by e.number limit 1)
$$;

comment on function tock.doctor_of_epochs is
  'What doctor() says of epochs behind: the oldest that is over for a day and not settled, and the oldest that is not dropped a day past its retention, or by eight tries.';
