-- The parts are all functions of that name. What one raises becomes a finding, and the others go on; once a
-- lock was not to be had, nobody is waited for any more.
create or replace function tock.examine()
returns table (finding text, severity text, detail text, hint text) language plpgsql volatile
set lock_timeout = '2s' as $$
declare
  -- half of what the edge's role is given
  v_until timestamptz := pg_catalog.clock_timestamp() + interval '15 s';
  v_part name;
begin
  for v_part in
    select p.proname from pg_catalog.pg_proc p
    where p.pronamespace = 'tock'::regnamespace and p.proname like 'doctor\_of\_%' order by p.proname
  loop
    begin
      if pg_catalog.clock_timestamp() > v_until then
        raise lock_not_available using message = 'the others took too long';
      end if;
      return query execute pg_catalog.format(
        'select d.finding, d.severity, d.detail, d.hint from tock.%I() d', v_part);
    exception when others then
      perform pg_catalog.set_config('lock_timeout', '50ms', true);
      return query select 'the doctor could not look', 'warning',
        pg_catalog.format('%s: %s %s', pg_catalog.substr(v_part, 11), sqlstate, sqlerrm),
        'ask again in a moment; when it stays so, ' || case sqlstate
          when '55P03'
            then 'see who has the lock: select pid, relation::regclass from pg_locks where granted and mode '
              '= ''AccessExclusiveLock'' and database = (select oid from pg_database where datname = '
              'current_database())'
          else 'mend what it says' end;
    end;
  end loop;
end $$;

comment on function tock.examine is
  'What each part of doctor() says, in no order; bounded by 2 s for the first lock, 50 ms for the next, '
  'and 15 s in all.';

-- What is wrong now, and what was reported within a day.
create or replace function tock.doctor()
returns table (finding text, severity text, detail text, hint text) language sql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off as $$
  select f.finding, f.severity, f.detail, f.hint from tock.examine() f
  order by pg_catalog.array_position(array['critical', 'warning', 'note'], f.severity), f.finding, f.detail
$$;

comment on function tock.doctor is
  'What is not as it should be, critical first, then warnings, then notes, which can wait; and what to do '
  'about each. No row when all is well.';

create or replace view tock.findings as
  select d.severity, d.finding, d.detail, d.hint from tock.doctor() d;

comment on view tock.findings is 'doctor(), for whoever looks with psql.';
