create or replace function tock.put_archive(p_settings jsonb)
returns table (enabled boolean, prefix text) language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_unknown text;
begin
  if p_settings is null or pg_catalog.jsonb_typeof(p_settings) <> 'object' then
    perform tock.refuse(422, 'settings must be an object', 'settings');
  end if;
  select k into v_unknown from pg_catalog.jsonb_object_keys(p_settings) k
  where k not in ('enabled', 'prefix') limit 1;
  if v_unknown is not null then
    perform tock.refuse(422, 'there is no setting ' || v_unknown, v_unknown, 'settings: enabled, prefix');
  elsif coalesce(pg_catalog.jsonb_typeof(p_settings -> 'enabled'), 'null') not in ('boolean', 'null') then
    perform tock.refuse(422, 'enabled must be true or false', 'enabled');
  elsif coalesce(pg_catalog.jsonb_typeof(p_settings -> 'prefix'), 'null') not in ('string', 'null')
    or (p_settings ->> 'prefix') !~ '^[A-Za-z0-9_.-]{1,100}(/[A-Za-z0-9_.-]{1,100}){0,4}$'
    or (p_settings ->> 'prefix') ~ '(^|/)\.\.?(/|$)'
  then
    perform tock.refuse(422, 'prefix must be up to five names of letters, digits and _ . - separated by /',
      'prefix');
  end if;
  insert into tock.archive as a (enabled, prefix)
    values (coalesce((p_settings ->> 'enabled')::boolean, false), coalesce(p_settings ->> 'prefix', 'tock'))
    on conflict (single) do update set enabled = coalesce((p_settings ->> 'enabled')::boolean, a.enabled),
      prefix = coalesce(p_settings ->> 'prefix', a.prefix), changed_at = pg_catalog.clock_timestamp();
  perform tock.write_audit_log('put_archive', '*', p_settings);
  return query select a.enabled, a.prefix from tock.archive a;
end $$;

comment on function tock.put_archive is
  'Turns the archive on or off and sets the prefix of its future files ({enabled, prefix}; missing settings '
  'stay).';

create or replace function tock.enable_archive_by_default()
returns boolean language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from tock.archive) then
    perform tock.put_archive('{"enabled": true}');
  end if;
  return tock.is_archiving();
end $$;

comment on function tock.enable_archive_by_default is
  'Turns the archive on if it was never turned on or off; returns whether it is on. A server with an object '
  'store calls this before history is dropped.';

create or replace function tock.archive()
returns table (
  enabled boolean, prefix text, waiting integer, oldest_waiting_at timestamptz, exported integer,
  files bigint, rows bigint, bytes bigint, erasures_pending integer, objects_unwanted integer,
  last_step_at timestamptz, failures integer, failed_at timestamptz, last_error text) language sql
volatile security definer
set search_path = pg_catalog, pg_temp as $$
  select a.enabled, a.prefix, e.waiting, e.oldest,
    (select count(*)::integer from tock.archives s where s.state <> 'exporting'),
    f.files, f.rows, f.bytes, (select count(*)::integer from tock.archive_erasures r
      where r.erased_at is null),
    (select count(*)::integer from tock.archive_objects o where o.state = 'unwanted'),
    a.last_step_at, a.failures, a.failed_at, a.last_error
  from (
    select s.enabled, s.prefix, s.last_step_at, s.failures, s.failed_at, s.last_error from tock.archive s
    union all select false, 'tock', null, 0, null, null where not exists (select from tock.archive)) a
  cross join lateral (
    select count(*)::integer as waiting, min(e.closed_at) as oldest from tock.segments e
    where tock.is_past_retention(e) and not exists (
      select from tock.archives s where s.segment = e.number and s.state = 'verified')) e
  cross join lateral (
    select count(*) as files, coalesce(sum(f.rows), 0)::bigint as rows,
      coalesce(sum(f.bytes), 0)::bigint as bytes
    from tock.archived_files f) f
$$;

comment on function tock.archive is
  'The state of the archive: whether it is on, how many segments wait for it and are in it, its files, and '
  'the outcome of its last step.';

create or replace function tock.record_archive_step(p_error text default null)
returns void language sql volatile security definer
set search_path = pg_catalog, pg_temp as $$
  update tock.archive a set last_step_at = pg_catalog.clock_timestamp(),
    failed_at = case when p_error is null then a.failed_at else pg_catalog.clock_timestamp() end,
    failures = case when p_error is null then 0 else a.failures + 1 end,
    last_error = pg_catalog.left(p_error, 500)
$$;

comment on function tock.record_archive_step is
  'Records the outcome of a step of the archive; p_error is null after a success.';
