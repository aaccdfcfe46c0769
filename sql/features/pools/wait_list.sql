-- The turn from which a wait list is read. A wait list is read from the fourth newest cursor: about 64
-- assignments back, since one assignment in sixteen saves a cursor. Below that lie dead entries for as long
-- as an old snapshot keeps them. Cursors are read from the highest number, where no dead entries are. A live
-- entry below the start was committed late, or an open transaction had locked it. A call looks for such an
-- entry when there is none above, and so does the maintenance job. Four cursors saved at once move the start.
create or replace function tock.wait_list_start(p_pool text, p_list text)
returns bigint language plpgsql volatile as $$
begin
  return coalesce((
    select m.reached from tock.wait_list_cursors m where m.pool = p_pool and m.line = p_list
    order by m.pool desc, m.line desc, m.number desc offset 3 limit 1), 0);
end $$;

-- Saves how far a wait list has been read; four cursors at once move its start there.
create or replace function tock.save_wait_list_cursor(
  p_pool text, p_list text, p_reached bigint, p_marks integer, p_rest_until timestamptz)
returns void language plpgsql volatile as $$
begin
  insert into tock.wait_list_cursors (pool, line, number, reached, rest_until)
  select p_pool, p_list, pg_catalog.nextval('tock.pool_member_numbers'), p_reached, p_rest_until
  from pg_catalog.generate_series(1, p_marks);
end $$;

-- Locks the first p_limit entries of a wait list between two turns. Locked rows are skipped, so that an
-- assignment in an open transaction blocks no other.
create or replace function tock.lock_waiting(
  p_pool text, p_list text, p_from bigint, p_below bigint, p_limit integer)
returns tock.pool_members[] language plpgsql volatile as $$
begin
  if p_list = 'free' then
    return array(
      select p::tock.pool_members from tock.pool_members p
      where p.pool = p_pool and p.task is null and p.turn >= p_from and p.turn < p_below
      order by p.pool, p.turn limit p_limit for update skip locked);
  end if;
  return array(
    select p::tock.pool_members from tock.pool_members p
    where p.pool = p_pool and p.worker is null and p.turn >= p_from and p.turn < p_below
    order by p.pool, p.turn limit p_limit for update skip locked);
end $$;

-- Locks the first p_limit entries below the start of their wait list; none while that search rests. A slow
-- search without a result is not repeated for twenty times as long. Dead entries that an open transaction
-- keeps then cost at most a twentieth of the time.
create or replace function tock.lock_waiting_below(p_pool text, p_list text, p_start bigint, p_limit integer)
returns tock.pool_members[] language plpgsql volatile as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_took interval;
  v_members tock.pool_members[];
begin
  if p_start = 0 or (
    select max(m.rest_until) from (
      select k.rest_until from tock.wait_list_cursors k where k.pool = p_pool and k.line = p_list
      order by k.pool desc, k.line desc, k.number desc limit 4) m) > v_now
  then
    return '{}';
  end if;
  v_members := tock.lock_waiting(p_pool, p_list, 0, p_start, p_limit);
  v_took := pg_catalog.clock_timestamp() - v_now;
  if v_members = '{}' and v_took > interval '2 milliseconds' then
    perform tock.save_wait_list_cursor(p_pool, p_list, p_start, 1, v_now + 20 * v_took);
  end if;
  return v_members;
end $$;

-- Locks the first entry of a wait list, the oldest waiting task or a free worker; null if there is none.
create or replace function tock.lock_first_waiting(p_pool text, p_list text)
returns tock.pool_members language plpgsql volatile as $$
declare
  v_start bigint := tock.wait_list_start(p_pool, p_list);
  v_members tock.pool_members[] := tock.lock_waiting(p_pool, p_list, v_start, 9223372036854775807, 1);
begin
  if v_members <> '{}' then
    if pg_catalog.random() < 0.0625 then
      perform tock.save_wait_list_cursor(p_pool, p_list, v_members[1].turn, 1, null);
    end if;
  else
    v_members := tock.lock_waiting_below(p_pool, p_list, v_start, 1);
    if v_members <> '{}' then
      -- more entries may lie there, so the start moves down
      perform tock.save_wait_list_cursor(p_pool, p_list, v_members[1].turn, 4, null);
    end if;
  end if;
  return v_members[1];
end $$;

-- Locks the p_limit workers that have been free for longest. Removes the vanished workers that it finds on
-- the way, and those among the 1,000 that follow.
create or replace function tock.free_workers(p_pool text, p_limit integer)
returns tock.pool_members[] language plpgsql volatile as $$
declare
  v_start bigint := tock.wait_list_start(p_pool, 'free');
  v_free tock.pool_members[];
  v_gone bigint;
  v_next bigint[];
begin
  for v_step in 1 .. 1000 loop
    v_free := tock.lock_waiting(p_pool, 'free', v_start, 9223372036854775807, p_limit);
    if pg_catalog.cardinality(v_free) < p_limit then
      v_free := v_free || tock.lock_waiting_below(p_pool, 'free', v_start,
        p_limit - pg_catalog.cardinality(v_free));
    end if;
    v_gone := (select min(f.turn) from unnest(v_free) f where f.leased_until <= pg_catalog.clock_timestamp());
    if v_gone is null then
      return v_free;
    end if;
    v_next := array(
      select n.number from tock.pool_members n where n.pool = p_pool and n.task is null and n.turn >= v_gone
      order by n.pool, n.turn limit 1000);
    delete from tock.pool_members p where p.number = any (array(
      select w.number from tock.pool_members w
      where w.number = any (v_next) and w.task is null and w.leased_until <= pg_catalog.clock_timestamp()
      for update skip locked));
  end loop;
  return '{}';
end $$;
