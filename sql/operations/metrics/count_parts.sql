-- The upper bounds of the histograms' buckets, in seconds; one more bucket holds what lies above the last.
-- Each is at most 1.6 times the one before, for the sake of percentile(). The arrays in minutes and totals
-- are of this length: a change of it needs a migration that converts them, as in 0033.
create or replace function tock.bounds()
returns double precision[] language sql immutable as $$
  select array[
    0.005, 0.007, 0.01, 0.016, 0.025, 0.035, 0.05, 0.07, 0.1, 0.16, 0.25, 0.35, 0.5, 0.7, 1, 1.6, 2.5, 3.5, 5,
      7, 10, 15, 20, 30, 45,
    60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700,
    3600, 5400, 7200, 10800, 14400, 21600, 28800, 43200, 57600, 86400]::float8[]
$$;

comment on function tock.bounds is
  'The upper bounds of the buckets in which waits and runs are counted, in seconds; what is above the last '
  'has a bucket of its own.';

-- A value that equals a bound lies below it, as Prometheus's `le` says; width_bucket() counts it above.
create or replace function tock.bucket_of(p_seconds double precision)
returns integer language sql immutable as $$
  select 1 + pg_catalog.width_bucket(p_seconds, tock.bounds()) - (p_seconds = any (tock.bounds()))::integer
$$;

comment on function tock.bucket_of is 'The number of the bucket for so many seconds, from 1.';

create or replace function tock.histogram(p_buckets integer[], p_counts bigint[])
returns bigint[] language sql immutable as $$
  select case when pg_catalog.cardinality(p_buckets) > 0 then array(
    select coalesce(sum(b.n), 0)::bigint
    from pg_catalog.generate_series(1, 1 + pg_catalog.cardinality(tock.bounds())) g(bucket)
    left join unnest(p_buckets, p_counts) b(bucket, n) on b.bucket = g.bucket
    group by g.bucket order by g.bucket) end
$$;

comment on function tock.histogram is 'Counts by bucket as one array; null when there are none.';

create or replace function tock.add_counts(p_one bigint[], p_other bigint[])
returns bigint[] language sql immutable as $$
  select case when p_one is null then p_other when p_other is null then p_one else array(
    select a.one + a.other from unnest(p_one, p_other) with ordinality a(one, other, n) order by a.n) end
$$;

comment on function tock.add_counts is 'Two arrays of counts added up; null is none.';

-- created_at is the task's. A run that goes on with one came by a promotion, which says when it was due (or,
-- where a concurrency key let it in or its last parent ended, when it was promoted), or at once, when the run
-- before ended; so its task is followed from its first run, 16 steps at most. Changed and run beyond that:
-- unknown.
create or replace function tock.ready_since(p_stream integer, p_position bigint, p_task_id bigint)
returns timestamptz language plpgsql volatile as $$
declare
  v_run bigint := tock.id_at(p_position, p_stream);
  v_id bigint := p_task_id;
  v_at timestamptz;
begin
  for v_step in 1 .. 16 loop
    if tock.stream_of(v_id) = 0 then
      select p.run_id, case when pg_catalog.isfinite(p.due_at) then p.due_at else p.promoted_at end
      into v_id, v_at
      from tock.promotions p where p.position = tock.position_of(v_id);
    else
      select e.next_id, e.ended_at into v_id, v_at
      from tock.results e where e.stream = tock.stream_of(v_id) and e.position = tock.position_of(v_id);
    end if;
    if coalesce(v_id = v_run, true) then
      return case when v_id = v_run then v_at end;
    end if;
  end loop;
  return null;
end $$;

comment on function tock.ready_since is
  'Since when a run of a task that waited, or that goes on, has been ready or due; null when '
  'that can''t be seen.';

-- As arrays of one length make one of two dimensions, what adds them up takes them apart by its row.
create or replace function tock.sum_counts(p_counts bigint[])
returns bigint[] language sql immutable as $$
  select case when pg_catalog.cardinality(p_counts) > 0 then array(
    select sum(c.n)::bigint from unnest(p_counts) with ordinality c(n, place)
    group by (c.place - 1) % (1 + pg_catalog.cardinality(tock.bounds()))
    order by (c.place - 1) % (1 + pg_catalog.cardinality(tock.bounds()))) end
$$;

comment on function tock.sum_counts is
  'Arrays of counts, one after the other in one, added up; null when there are none.';

create or replace function tock.hourly_until()
returns timestamptz language sql volatile as $$
  select pg_catalog.date_trunc('hour', pg_catalog.clock_timestamp() - interval '48 hours', 'UTC')
$$;

comment on function tock.hourly_until is
  'Up to when what happened is kept by the hour; from then on by the minute.';
