-- The runs of a stream without a result that no claim leased, as lost ones, and how many of them lie in
-- leases. A run in no lease was never claimed. A lease may also cover more runs than it counted. The extra
-- runs are then those that were created after the claim. If their number differs from the surplus, all runs
-- of the lease without a result run again. A run that was superseded before it was claimed is not missing:
-- its replacement continues the task.
create or replace function tock.missing_runs_{segment}(p_stream integer)
returns table (missing tock.ending[], in_leases bigint) language sql stable as $$
  with covered as materialized (
    select r.position, r.attempt, r.lost, l.after_position, l.runs + l.skipped as counted,
      (select e.position from tock.results_{segment} e
       where e.stream = r.stream and e.position = r.position) is null
        and r.position <> all (coalesce(l.skips, '{}')) as open,
      r.created_at > l.claimed_at as late
    from tock.runs_{segment} r
    left join lateral (
      select c.* from tock.leases_{segment} c where c.stream = r.stream and c.after_position < r.position
      order by c.stream desc, c.after_position desc limit 1) l on l.last_position >= r.position
    where r.stream = p_stream
  ), judged as (
    select c.*, count(*) over w - c.counted as excess, count(*)
      filter (where c.open and c.late) over w as late_ones
    from covered c window w as (partition by c.after_position)
  ), missing as (
    select j.* from judged j
    where j.open and (
      (j.after_position is null and not exists (
        select from tock.run_overrides_{segment} m
        where m.stream = p_stream and m.position = j.position and m.kind = 'superseded' and m.other_id > 0))
      or (j.excess > 0 and (j.late or j.excess <> j.late_ones)))
  )
  select array(
      select row(p_stream, m.position, 'lost', null,
        pg_catalog.jsonb_build_object('name', 'NeverClaimed',
          'message', 'no claim leased this run: found by the verification of the segment'),
        '-infinity', m.attempt, m.lost, null, null)::tock.ending
      from missing m order by m.position),
    (select count(*) from missing m where m.after_position is not null)
$$;
