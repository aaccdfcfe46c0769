-- Makes the children of waiting tasks wait for the runs that these have become.
create or replace function tock.notify_dependents_of_promoted(p_positions bigint[], p_cancelled boolean)
returns void language plpgsql volatile as $$
begin
  if p_cancelled then
    delete from tock.dependency_waits x where x.child = any (p_positions);
  end if;
  if not tock.sees_all() then
    insert into tock.dependency_rechecks (stream, after_position, upto) select 0, p - 1, p
    from unnest(p_positions) p;
  end if;
  -- The children of these waiting tasks now wait for the runs. A child whose row is locked still waits for
  -- the waiting task. The session that holds the row may have checked the parent before this promotion
  -- commits, and would not learn of the end of the run. So the child gets a recheck.
  if (select x.position from tock.dependency_waits x
    where x.stream = 0 and x.position >= (select min(p) from unnest(p_positions) p)
      and x.position <= (select max(p) from unnest(p_positions) p)
    order by x.stream, x.position limit 1) is not null
  then
    update tock.dependency_waits x set stream = tock.stream_of(p.run_id),
      position = tock.position_of(p.run_id)
    from (
      select w.position from tock.waiting w
      where w.position = any (array(
        select y.child from tock.dependency_waits y where y.stream = 0 and y.position = any (p_positions)))
      order by w.position for update skip locked) c, tock.promotions p
    where x.stream = 0 and x.position = any (p_positions) and x.child = any (array[c.position])
      and p.position = any (array[x.position]);
    perform tock.schedule_recheck(array(
      select y.child from tock.dependency_waits y where y.stream = 0 and y.position = any (p_positions)));
    if p_cancelled then
      perform tock.notify_dependents_of_skipped(tock.stream_of(p.run_id), tock.position_of(p.run_id) - 1,
        tock.position_of(p.run_id))
      from tock.promotions p where p.position = any (p_positions);
    end if;
  end if;
end $$;
