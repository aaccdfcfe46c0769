-- Sets the start of the wait lists to their first entry, keeps the four newest cursors of each, and deletes
-- the cursors of up to 500 empty pools a call.
create or replace function tock.prune_wait_lists()
returns void language plpgsql volatile as $$
declare
  v_mark tock.wait_list_cursors;
  v_pool text := '~';
  v_list text := '';
  v_left integer := 0;
begin
  loop
    -- from the highest number of each list, where no dead entries are
    select m.* into v_mark from tock.wait_list_cursors m where (m.pool, m.line) < (v_pool, v_list)
    order by m.pool desc, m.line desc, m.number desc limit 1;
    exit when not found;
    v_pool := v_mark.pool;
    v_list := v_mark.line;
    if v_mark.made_at < pg_catalog.now() - interval '10 minutes'
      and not exists (select from tock.pool_members p where p.pool = v_pool and p.worker is not null)
      and not exists (select from tock.pool_members p where p.pool = v_pool and p.task is not null)
    then
      delete from tock.wait_list_cursors m where m.pool = v_pool and m.line = v_list and v_left < 500;
      v_left := v_left + 1;
    else
      perform tock.reset_wait_list_start(v_pool, v_list);
      delete from tock.wait_list_cursors m where m.pool = v_pool and m.line = v_list and m.number < (
        select k.number from tock.wait_list_cursors k where k.pool = v_pool and k.line = v_list
        order by k.pool desc, k.line desc, k.number desc offset 3 limit 1);
    end if;
  end loop;
end $$;

-- Sets the start of a wait list to its first entry if its cursors are elsewhere. The start moves down to an
-- entry below it, unless another session has locked that entry; the lock that the check takes ends with the
-- check. The start moves up to the first entry if a search for that takes long, as it does while an old
-- transaction keeps dead entries.
create or replace function tock.reset_wait_list_start(p_pool text, p_list text)
returns void language plpgsql volatile as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_start bigint := tock.wait_list_start(p_pool, p_list);
  v_last bigint := (select s.last_value from tock.pool_member_numbers s);
  v_first bigint;
begin
  begin
    v_first := (tock.lock_waiting_below(p_pool, p_list, v_start, 1))[1].turn;
    if v_first is not null then
      raise sqlstate 'TK000';
    end if;
  exception when sqlstate 'TK000' then
    perform tock.save_wait_list_cursor(p_pool, p_list, v_first, 4, null);
    return;
  end;
  v_now := pg_catalog.clock_timestamp();
  if p_list = 'free' then
    v_first := (select p.turn from tock.pool_members p
      where p.pool = p_pool and p.task is null and p.turn >= v_start
      order by p.pool, p.turn limit 1);
  else
    v_first := (select p.turn from tock.pool_members p
      where p.pool = p_pool and p.worker is null and p.turn >= v_start
      order by p.pool, p.turn limit 1);
  end if;
  if pg_catalog.clock_timestamp() - v_now > interval '2 milliseconds' then
    perform tock.save_wait_list_cursor(p_pool, p_list, coalesce(v_first, v_last), 4, null);
  end if;
end $$;
