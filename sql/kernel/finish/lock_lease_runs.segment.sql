-- lock_lease_runs() for one segment; null for another segment. Every function, also extend() and
-- close_ended(), locks the rows of a lease in the order of the index on token, so that two calls cannot
-- deadlock. A lease of one run is locked exclusively: the call that ends its run also closes it, and
-- end_lease() need not read results. p_ids are ids of tasks or runs. The id of a first run is the id of its
-- task, so most ids are found by primary key. Only the remaining ids are looked up among the retried runs of
-- the lease. A row's id is that of the task, and n the place in p_ids. The materialized lease and the
-- laterals with offset 0 are fences: with poor statistics the planner would start with all runs or all leases
-- of a stream.
create or replace function tock.lock_lease_runs_{suffix}(
  p_lease uuid, p_segment integer, p_ids bigint[], p_exclusive boolean)
returns tock.leased_run[] language plpgsql volatile as $$
declare
  v_runs tock.leased_run[];
  v_matched bigint[];
begin
  if p_segment <> {segment} then
    return null;
  elsif tock.is_of_one(p_lease) then
    perform from tock.leases_{segment} l
    where l.stream = tock.token_stream(p_lease)
      and l.after_position = tock.token_cursor(p_lease, {first_position})
      and l.token = p_lease
    for no key update;
  elsif p_exclusive then
    perform from tock.leases_{segment} l where l.token = p_lease and l.alone is null for no key update;
  else
    perform from tock.leases_{segment} l where l.token = p_lease and l.alone is null for share;
  end if;
  if not found then
    return '{}';
  end if;
  if p_ids is null then
    return (
      with leased as materialized (select l.* from tock.lease_rows_{segment}(p_lease) l)
      select array(
        select row(r.position, coalesce(r.task_id, tock.id_at(r.position, r.stream)), r.stream, r.position,
          s.queue, r.attempt, r.lost, r.max_attempts, coalesce(e.state, l.outcome), e.result, e.error,
          e.next_id)::tock.leased_run
        from leased l
        join tock.streams s on s.number = l.stream
        cross join lateral (
          select r.stream, r.position, r.task_id, r.attempt, r.lost, r.max_attempts from tock.runs_{segment} r
          where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
            and r.position <> all (coalesce(l.skips, '{}'))
          offset 0) r
        left join lateral (
          select e.state, e.result, e.error, e.next_id from tock.results_{segment} e
          where e.stream = r.stream and e.position = r.position offset 0) e on true));
  end if;
  v_runs := (
    with leased as materialized (select l.* from tock.lease_rows_{segment}(p_lease) l)
    select array(
      select row(g.n, coalesce(r.task_id, g.id), r.stream, r.position, s.queue, r.attempt,
        r.lost, r.max_attempts, coalesce(e.state, l.outcome), e.result, e.error, e.next_id)::tock.leased_run
      from leased l
      join tock.streams s on s.number = l.stream
      join unnest(p_ids) with ordinality g(id, n) on l.stream = tock.stream_of(g.id)
      cross join lateral (
        select r.stream, r.position, r.task_id, r.attempt, r.lost, r.max_attempts from tock.runs_{segment} r
        where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
          and r.position = tock.position_of(g.id) and r.position <> all (coalesce(l.skips, '{}'))
        offset 0) r
      left join lateral (
        select e.state, e.result, e.error, e.next_id from tock.results_{segment} e
        where e.stream = r.stream and e.position = r.position offset 0) e on true));
  if pg_catalog.cardinality(v_runs) < pg_catalog.cardinality(p_ids) then
    v_matched := array(select r.n from unnest(v_runs) r);
    v_runs := v_runs || (
      with leased as materialized (select l.* from tock.lease_rows_{segment}(p_lease) l)
      select array(
        select row(g.n, g.id, r.stream, r.position, s.queue, r.attempt,
          r.lost, r.max_attempts, coalesce(e.state, l.outcome), e.result, e.error, e.next_id)::tock.leased_run
        from leased l
        join tock.streams s on s.number = l.stream
        cross join lateral (
          select r.stream, r.position, r.task_id, r.attempt, r.lost, r.max_attempts from tock.runs_{segment} r
          where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
            and r.task_id is not null and r.position <> all (coalesce(l.skips, '{}'))
          offset 0) r
        join tock.unmatched_ids(p_ids, v_matched) g on g.id = r.task_id
        left join lateral (
          select e.state, e.result, e.error, e.next_id from tock.results_{segment} e
          where e.stream = r.stream and e.position = r.position offset 0) e on true));
  end if;
  return v_runs;
end $$;
