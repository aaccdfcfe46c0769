create or replace function tock.put_archive(p_settings jsonb)
returns table (enabled boolean, prefix text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_unknown text;
begin
  if p_settings is null or pg_catalog.jsonb_typeof(p_settings) <> 'object' then
    perform tock.refuse(422, 'the archive''s settings are an object', 'settings');
  end if;
  select k into v_unknown from pg_catalog.jsonb_object_keys(p_settings) k where k not in ('enabled', 'prefix') limit 1;
  if v_unknown is not null then
    perform tock.refuse(422, 'there is no setting ' || v_unknown, v_unknown, 'settings: enabled, prefix');
  elsif coalesce(pg_catalog.jsonb_typeof(p_settings -> 'enabled'), 'null') not in ('boolean', 'null') then
    perform tock.refuse(422, 'enabled is true or false', 'enabled');
  elsif coalesce(pg_catalog.jsonb_typeof(p_settings -> 'prefix'), 'null') not in ('string', 'null')
    or (p_settings ->> 'prefix') !~ '^[A-Za-z0-9_.-]{1,100}(/[A-Za-z0-9_.-]{1,100}){0,4}$' or (p_settings ->> 'prefix') ~ '(^|/)\.\.?(/|$)'
  then
    perform tock.refuse(422, 'prefix is up to five names of letters, digits and _ . - with / between them', 'prefix');
  end if;
  insert into tock.archive as a (enabled, prefix)
    values (coalesce((p_settings ->> 'enabled')::boolean, false), coalesce(p_settings ->> 'prefix', 'tock'))
    on conflict (single) do update set enabled = coalesce((p_settings ->> 'enabled')::boolean, a.enabled),
      prefix = coalesce(p_settings ->> 'prefix', a.prefix), changed_at = pg_catalog.clock_timestamp();
  perform tock.act('put_archive', '*', p_settings);
  return query select a.enabled, a.prefix from tock.archive a;
end $$;

comment on function tock.put_archive is
  'Turns the archive on or off, and says under which prefix its files lie from now on ({enabled, prefix}; what is left out stays).';

create or replace function tock.want_archive()
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from tock.archive) then
    perform tock.put_archive('{"enabled": true}');
  end if;
  return tock.is_archiving();
end $$;

comment on function tock.want_archive is
  'Whoever has a store calls this before history is dropped: it turns the archive on where nobody has turned it on or off. Whether it is on.';

create or replace function tock.archive()
returns table (
  enabled boolean, prefix text, waiting integer, oldest_waiting_at timestamptz, exported integer, files bigint, rows bigint,
  bytes bigint, erasures_pending integer, objects_unwanted integer, last_step_at timestamptz, failures integer,
  failed_at timestamptz, last_error text)
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select a.enabled, a.prefix, e.waiting, e.oldest, (select count(*)::integer from tock.archives s where s.state <> 'exporting'),
    f.files, f.rows, f.bytes, (select count(*)::integer from tock.archive_erasures r where r.erased_at is null),
    (select count(*)::integer from tock.archive_objects o where o.state = 'unwanted'),
    a.last_step_at, a.failures, a.failed_at, a.last_error
  from (
    select s.enabled, s.prefix, s.last_step_at, s.failures, s.failed_at, s.last_error from tock.archive s
    union all select false, 'tock', null, 0, null, null where not exists (select from tock.archive)) a
  cross join lateral (
    select count(*)::integer as waiting, min(e.settled_at) as oldest from tock.epochs e
    where tock.is_past_retention(e) and not exists (
      select from tock.archives s where s.epoch = e.number and s.state = 'verified')) e
  cross join lateral (
    select count(*) as files, coalesce(sum(f.rows), 0)::bigint as rows, coalesce(sum(f.bytes), 0)::bigint as bytes
    from tock.archived_files f) f
$$;

comment on function tock.archive is
  'How the archive stands: whether it is on, how many epochs wait for it and lie in it, its files, and how its last step went.';

create or replace function tock.archive_stepped(p_error text default null)
returns void
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  update tock.archive a set last_step_at = pg_catalog.clock_timestamp(),
    failed_at = case when p_error is null then a.failed_at else pg_catalog.clock_timestamp() end,
    failures = case when p_error is null then 0 else a.failures + 1 end, last_error = pg_catalog.left(p_error, 500)
$$;

comment on function tock.archive_stepped is 'Notes how a step of the archive went: p_error is null when it did.';

-- An epoch that waits for a day has had 1,440 steps of a trigger by the minute.
create or replace function tock.doctor_of_archive()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  select 'the archive fails', 'critical',
    pg_catalog.format('%s in a row, the last at %s: %s', tock.some(a.failures, 'step'), tock.utc(a.failed_at), a.last_error),
    'mend what it says; POST /v1/archive/step, or tock archive run, tries again. What waits for the archive stays in the database'
  from tock.archive a where a.enabled and a.failures > 0
  union all
  select 'the archive is behind', 'warning',
    pg_catalog.format('%s for it, the oldest settled since %s; its last step was %s', tock.some(w.waiting, 'epoch waits', 'epochs wait'), tock.utc(w.oldest_waiting_at),
      coalesce('at ' || tock.utc(w.last_step_at), 'never')),
    case when w.last_step_at > pg_catalog.clock_timestamp() - interval '1 hour'
      then 'its steps are too small or too few: call tock archive run until nothing is left'
      else 'nobody takes its steps: see that the Worker has a store (binding ARCHIVE, or TOCK_ARCHIVE_URL) and a cron trigger, or call POST /v1/archive/step' end
  from tock.archive() w
  where w.enabled and w.failures = 0 and exists (
    select from tock.epochs e
    where tock.is_past_retention(e) and not exists (select from tock.archives s where s.epoch = e.number and s.state = 'verified')
      and e.settled_at < pg_catalog.clock_timestamp() - interval '1 day' - (
        select max((tock.policy(q)).retention_seconds) from unnest(e.queues) q) * interval '1 second')
  union all
  select 'an erasure waits for the archive', 'warning',
    pg_catalog.format('%s erased tasks are still in its files, the oldest since %s', count(*), tock.utc(min(e.noted_at))),
    'they are not shown any more; POST /v1/archive/step, or tock archive run, rewrites the files'
  from tock.archive_erasures e where e.erased_at is null and e.noted_at < pg_catalog.clock_timestamp() - interval '1 day'
  having count(*) > 0
$$;

comment on function tock.doctor_of_archive is
  'What doctor() says of the archive: that its steps fail, that epochs have waited for it for a day, and erasures.';
