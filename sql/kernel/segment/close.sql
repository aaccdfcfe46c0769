-- Closes segments that have ended, have no writers left and have nothing unclaimed or running; returns the
-- number. A transaction that was writing when the segment ended may still commit runs into it, and holds a
-- slot until then. (A prepared transaction appears in pg_locks as -1/xid.) The check for unclaimed runs is a
-- later statement than the check for writers, so its snapshot shows what they committed.
create or replace function tock.close_segments()
returns integer language plpgsql volatile as $$
declare
  v_reached bigint := (select s.last_value from tock.positions s);
  v_writers text[] := tock.writers();
  v_segment tock.segments;
  v_busy boolean;
  v_closed integer := 0;
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    return 0;
  end if;
  update tock.segments e set writers_at_end = v_writers
  where e.writers_at_end is null and e.end_position <= v_reached;
  for v_segment in
    select e.* from tock.segments e
    where e.closed_at is null and e.writers_at_end is not null and not e.writers_at_end && v_writers
      and not exists (select from unnest(v_writers) w where w like '-1/%')
    order by pg_catalog.random() limit 64
  loop
    execute pg_catalog.format($q$
      select exists (
        select from tock.streams s
        where s.awake and s.start_after < $1 - 1 and (s.start_after >= $2 - 1
          or (select r.position from tock.runs_%1$s r where r.stream = s.number limit 1) is not null
          or (select l.last_position from tock.leases_%1$s l where l.stream = s.number limit 1) is not null))
      or exists (select from tock.leases_%1$s l where l.closed_at is null)$q$, v_segment.number)
      into v_busy using v_segment.end_position, v_segment.first_position;
    continue when v_busy;
    update tock.segments e set closed_at = pg_catalog.now(), dead = tock.dead_in_segment(e.number)
    where e.number = v_segment.number;
    v_closed := v_closed + 1;
  end loop;
  return v_closed;
end $$;

-- The virtual transaction ids of other transactions with a writer slot.
create or replace function tock.writers()
returns text[] language sql stable as $$
  select array(
    select distinct l.virtualtransaction from pg_catalog.pg_locks l
    where l.locktype = 'advisory' and l.classid = 'tock'::regnamespace and l.granted
      and l.objid::bigint between 1073741824 and 1073745919
      and l.database = (select d.oid from pg_catalog.pg_database d
        where d.datname = pg_catalog.current_database())
      and l.pid is distinct from pg_catalog.pg_backend_pid())
$$;
