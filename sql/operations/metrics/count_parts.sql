-- The upper bounds of the buckets for waiting and running times, in seconds; one more bucket holds the values
-- above the last bound. Each bound is at most 1.6 times the previous one, for the accuracy of percentile().
-- The arrays in tock.queue_metrics and tock.totals are longer by one: another number needs a migration.
create or replace function tock.bounds()
returns double precision[] language sql immutable as $$
  select array[
    0.005, 0.007, 0.01, 0.016, 0.025, 0.035, 0.05, 0.07, 0.1, 0.16, 0.25, 0.35, 0.5, 0.7, 1, 1.6, 2.5, 3.5, 5,
    7, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 450, 600, 900, 1200, 1800, 2700, 3600, 5400, 7200,
    10800, 14400, 21600, 28800, 43200, 57600, 86400]::float8[]
$$;

-- The number of the bucket of a duration in seconds, from 1. A value that equals a bound is in the bucket
-- that ends there, as with "le" of Prometheus; width_bucket() puts it into the next one.
create or replace function tock.bucket_of(p_seconds double precision)
returns integer language sql immutable as $$
  select 1 + pg_catalog.width_bucket(p_seconds, tock.bounds()) - (p_seconds = any (tock.bounds()))::integer
$$;

-- Counts by bucket as one array; null if there are none.
create or replace function tock.histogram(p_buckets integer[], p_counts bigint[])
returns bigint[] language sql immutable as $$
  select case when pg_catalog.cardinality(p_buckets) > 0 then array(
    select coalesce(sum(b.n), 0)::bigint
    from pg_catalog.generate_series(1, 1 + pg_catalog.cardinality(tock.bounds())) g(bucket)
    left join unnest(p_buckets, p_counts) b(bucket, n) on b.bucket = g.bucket
    group by g.bucket order by g.bucket) end
$$;

-- When a run became ready or due that is not the first of its task, or whose task waited; null if that is
-- unknown. created_at is the time of the task, not of its later runs. A later run was made by a promotion, or
-- at once when the run before it ended. A promotion has the due time, or the time of promotion if a
-- concurrency key admitted the task or its last parent ended. So this function follows the task from its
-- first run, for at most 16 steps. For a run that was changed, or beyond 16 steps, the time is unknown.
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

-- The sum of arrays of counts that were aggregated, or appended, into one; null if there are none.
-- array_agg() turns arrays of one length into one array of two dimensions; unnest() flattens it again.
create or replace function tock.sum_counts(p_counts bigint[])
returns bigint[] language sql immutable as $$
  select case when pg_catalog.cardinality(p_counts) > 0 then array(
    select sum(c.n)::bigint from unnest(p_counts) with ordinality c(n, place)
    group by (c.place - 1) % (1 + pg_catalog.cardinality(tock.bounds()))
    order by (c.place - 1) % (1 + pg_catalog.cardinality(tock.bounds()))) end
$$;

-- The time before which metrics are kept by the hour; after it, by the minute.
create or replace function tock.hourly_until()
returns timestamptz language sql volatile as $$
  select pg_catalog.date_trunc('hour', pg_catalog.clock_timestamp() - interval '48 hours', 'UTC')
$$;
