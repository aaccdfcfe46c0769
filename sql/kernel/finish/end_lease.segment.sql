-- Closes a whole lease as done and returns the number of done runs. Null if it was closed or never existed,
-- -1 for another segment, -2 if some of its runs have a pipeline and complete_runs() has to end it. One
-- update closes a whole lease. Its runs then count as done, except those with a result of their own. The
-- condition is not 'closed_at is null': with that, the planner would read the index of open leases with all
-- its dead entries.
create or replace function tock.end_lease_{suffix}(p_lease uuid, p_segment integer)
returns integer language plpgsql volatile as $$
declare
  v_row record;
  v_runs integer;
  v_rows integer;
  v_apart boolean;
  v_awaited bigint;
  v_has_options boolean;
begin
  if p_segment <> {segment} then
    return -1;
  end if;
  -- The first bit says that this may be a lease of one run. is_of_one() says for certain but costs more, so
  -- it runs only if the update finds no row.
  if p_lease >= '80000000-0000-0000-0000-000000000000' then
    -- if the lease is open, its run has not ended: a call that ends a single run also closes the lease
    update tock.leases_{segment} l set closed_at = now(), outcome = 'done'
    where l.stream = tock.token_stream(p_lease)
      and l.after_position = tock.token_cursor(p_lease, {first_position})
      and l.token = p_lease and coalesce(l.closed_at, 'infinity') = 'infinity'
    returning l.runs, (
      select x.position from tock.dependency_waits x where x.stream = l.stream
        and x.position = l.last_position limit 1)
      into v_runs, v_awaited;
    if v_runs is not null or tock.is_of_one(p_lease) then
      if v_awaited is not null or (v_runs is not null and not tock.sees_all()) then
        perform tock.on_parents_lease_ended(p_lease, p_segment);
      end if;
      return v_runs;
    end if;
  end if;
  v_has_options := tock.lease_has_options(p_lease);
  if v_has_options and exists (
    select from tock.leases_{segment} l
    cross join lateral (
      select r.position from tock.runs_{segment} r
      where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
        and r.options ? 'pipeline'
      offset 0) r
    where l.token = p_lease and l.alone is null)
  then
    return -2;
  end if;
  for v_row in
    update tock.leases_{segment} l set closed_at = now(), outcome = 'done'
    where l.token = p_lease and l.alone is null and coalesce(l.closed_at, 'infinity') = 'infinity'
    returning l.stream, l.after_position, l.last_position, l.runs,
      (select count(*) from tock.leases_{segment} l where l.token = p_lease and l.alone is null) as rows, (
      select x.position from tock.dependency_waits x
      where x.stream = l.stream and x.position > l.after_position and x.position <= l.last_position
      order by x.stream, x.position limit 1) as watched
  loop
    v_runs := coalesce(v_runs, 0) + v_row.runs;
    v_rows := coalesce(v_rows, v_row.rows) - 1;
    v_awaited := coalesce(v_awaited, v_row.watched);
    if (select e.position from tock.results_{segment} e where e.stream = v_row.stream
      and e.position > v_row.after_position and e.position <= v_row.last_position
      order by e.stream, e.position limit 1) is not null
    then
      v_apart := true;
    end if;
  end loop;
  -- Rows that were closed before count as in a repeated call. The results are read after the update, which
  -- may have waited for a call that failed some of the runs.
  if v_apart or v_rows > 0 then
    with leased as materialized (select l.* from tock.lease_rows_{segment}(p_lease) l
      where l.outcome = 'done')
    select coalesce(sum(l.runs - x.exceptions), 0)::integer into v_runs from leased l
    cross join lateral (
      select count(*) as exceptions from tock.results_{segment} e
      where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position
        and e.state <> 'done' and e.position <> all (coalesce(l.skips, '{}'))) x;
  end if;
  if v_runs is not null and v_has_options then
    perform tock.on_leases_ended(array[p_lease], p_segment, true);
  end if;
  if v_awaited is not null or (v_runs is not null and not tock.sees_all()) then
    perform tock.on_parents_lease_ended(p_lease, p_segment);
  end if;
  return v_runs;
end $$;
