-- The findings of each doctor_of_*(), in any order; bounded by 2 s for the first lock, 50 ms for the next
-- ones, and 15 s in all. examine() runs all functions named doctor_of_*. An error in one becomes a finding,
-- and the others continue. After the first lock timeout, the others wait only 50 ms for a lock.
create or replace function tock.examine()
returns table (finding text, severity text, detail text, hint text) language plpgsql volatile
set lock_timeout = '2s' as $$
declare
  -- half the statement_timeout of tock_edge
  v_until timestamptz := pg_catalog.clock_timestamp() + interval '15 s';
  v_part name;
begin
  for v_part in
    select p.proname from pg_catalog.pg_proc p
    where p.pronamespace = 'tock'::regnamespace and p.proname like 'doctor\_of\_%' order by p.proname
  loop
    begin
      if pg_catalog.clock_timestamp() > v_until then
        raise lock_not_available using message = 'the other checks took too long';
      end if;
      return query execute pg_catalog.format(
        'select d.finding, d.severity, d.detail, d.hint from tock.%I() d', v_part);
    exception when others then
      perform pg_catalog.set_config('lock_timeout', '50ms', true);
      return query select 'a check of the doctor failed', 'warning',
        pg_catalog.format('%s: %s %s', pg_catalog.substr(v_part, 11), sqlstate, sqlerrm),
        'try again in a moment; if it fails again, ' || case sqlstate
          when '55P03'
            then 'find the session with the lock: select pid, relation::regclass from pg_locks where granted '
              'and mode = ''AccessExclusiveLock'' and database = (select oid from pg_database where datname '
              '= current_database())'
          else 'fix the reported error' end;
    end;
  end loop;
end $$;

-- The findings include reports of the last day.
create or replace function tock.doctor()
returns table (finding text, severity text, detail text, hint text) language sql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
  select f.finding, f.severity, f.detail, f.hint from tock.examine() f
  order by pg_catalog.array_position(array['critical', 'warning', 'note'], f.severity), f.finding, f.detail
$$;

comment on function tock.doctor is
  'All findings: critical ones first, then warnings, then notes, which can wait; each with what to do. No '
  'row if all is well.';

create or replace view tock.findings as
  select d.severity, d.finding, d.detail, d.hint from tock.doctor() d;

comment on view tock.findings is 'doctor() as a view.';
