-- The maintenance that a claim does before it reads: fires due schedules, promotes due tasks, and runs late
-- maintenance jobs: the sweep of tock.waiting after 5 s, reaping and segments after 15 times their interval,
-- the sweep of schedules after 75 s. Returns whether there was anything to do. A claim calls this function.
-- It fires schedules and promotes due tasks; the sweeps belong to pg_cron and run here only if they are late.
-- It must not make the claim fail or block it for long. So errors become warnings: they also occur in the
-- maintenance jobs, which record them. If the claim itself is cancelled, the error is raised, since no worker
-- waits for the claim any more.
create or replace function tock.run_late_maintenance()
returns boolean language plpgsql volatile as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_late text[];
  v_due boolean;
  v_fires boolean;
  v_limit integer := 100;
begin
  select
    array(
      select d.name from tock.maintenance_jobs d
      where d.name in ('promote', 'reap', 'create_segments', 'fire_schedules')
        and (d.last_started_at > v_now + interval '1 second' or coalesce(d.last_started_at, '-infinity')
        < v_now - interval '1 second' * case
          when d.name = 'promote' then greatest(d.every_seconds, case d.last_amount
            when 0 then least(60, 20 * d.last_seconds) end)
          when d.name = 'create_segments' and tock.current_segment() is null then 1
          when d.name = 'fire_schedules' then 75
          else d.every_seconds * 15 end)),
    (select w.due_at from tock.waiting w
      where w.lost >= 0 and w.due_at <= v_now and w.due_at >= coalesce(
        (select tock.late_from() from tock.concurrency_keys g order by g.queue, g.concurrency_key limit 1),
        (select p.due_at from tock.promotions p order by p.due_at desc limit 1), '-infinity')
      order by w.due_at limit 1) is not null,
    exists (
      select from tock.schedule_next_fires f
      where f.due_at <= v_now and (f.due_at, f.schedule) >= (
        select m.due_at, m.schedule from (
          (select d.due_at, d.schedule from tock.schedule_history d where d.due_at <= v_now
            order by d.due_at desc, d.schedule desc offset 49 limit 1)
          union all select '-infinity', '') m
        order by m.due_at desc limit 1)
      order by f.due_at, f.schedule limit 1)
    into v_late, v_due, v_fires;
  if v_late <> '{}' then
    perform tock.run_maintenance(d, 0) from unnest(v_late) d where not tock.is_out_of_time();
  end if;
  if v_fires and not tock.is_out_of_time() then
    begin
      perform tock.fire_schedules(100);
    exception when others or query_canceled then
      if sqlstate = '57014' and not tock.is_out_of_time() then
        raise;
      end if;
      raise warning 'tock: firing schedules during a claim failed: % %', sqlstate, sqlerrm;
    end;
  end if;
  if v_due and not tock.is_out_of_time() then
    begin
      -- in growing batches, for 50 ms
      while tock.promote(v_limit) > 0 and pg_catalog.clock_timestamp() < v_now + interval '0.05 s' loop
        v_limit := least(1000, v_limit * 3);
      end loop;
    exception when others or query_canceled then
      if sqlstate = '57014' and not tock.is_out_of_time() then
        raise;
      end if;
      raise warning 'tock: promotion during a claim failed: % %', sqlstate, sqlerrm;
    end;
  end if;
  return v_due or v_fires or pg_catalog.cardinality(v_late) > 0;
end $$;
