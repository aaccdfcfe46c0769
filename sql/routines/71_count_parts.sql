-- The upper bounds of the histograms' buckets, in seconds; one more bucket holds what lies above the last.
create or replace function tock.bounds()
returns double precision[]
language sql
immutable
as $$
  select array[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600]::float8[]
$$;

comment on function tock.bounds is 'The upper bounds of the buckets in which waits and runs are counted, in seconds; what is above the last has a bucket of its own.';

-- What is just a bound's lies below it, as `le` says; width_bucket() counts it above, so it is asked the other way round.
create or replace function tock.bucket_of(p_seconds double precision)
returns integer
language sql
immutable
as $$
  select 17 - pg_catalog.width_bucket(-p_seconds,
    array[-3600, -1800, -300, -60, -30, -10, -5, -2.5, -1, -0.5, -0.25, -0.1, -0.05, -0.025, -0.01, -0.005]::float8[])
$$;

comment on function tock.bucket_of is 'The number of the bucket for so many seconds, from 1.';

create or replace function tock.histogram(p_buckets integer[], p_counts bigint[])
returns bigint[]
language sql
immutable
as $$
  select case when pg_catalog.cardinality(p_buckets) > 0 then array(
    select coalesce(sum(b.n), 0)::bigint
    from pg_catalog.generate_series(1, 17) g(bucket)
    left join unnest(p_buckets, p_counts) b(bucket, n) on b.bucket = g.bucket
    group by g.bucket order by g.bucket) end
$$;

comment on function tock.histogram is 'Counts by bucket as one array; null when there are none.';

create or replace function tock.add_counts(p_one bigint[], p_other bigint[])
returns bigint[]
language sql
immutable
as $$
  select case when p_one is null then p_other when p_other is null then p_one else array(
    select a.one + a.other from unnest(p_one, p_other) with ordinality a(one, other, n) order by a.n) end
$$;

comment on function tock.add_counts is 'Two arrays of counts added up; null is none.';

-- created_at is the task's. A run that goes on with one came by a promotion, which says when it was due, or at once, when
-- the run before ended; so its task is followed from its first run, 16 steps at most. Changed and run beyond that: unknown.
create or replace function tock.ready_since(p_stream integer, p_position bigint, p_task_id bigint)
returns timestamptz
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_run bigint := p_position << 20 | p_stream;
  v_id bigint := p_task_id;
  v_at timestamptz;
begin
  for v_step in 1 .. 16 loop
    if v_id & 1048575 = 0 then
      select p.run_id, case when pg_catalog.isfinite(p.due_at) then p.due_at else p.promoted_at end into v_id, v_at
      from tock.promotions p where p.position = v_id >> 20;
    else
      select e.next_id, e.ended_at into v_id, v_at
      from tock.results e where e.stream = (v_id & 1048575)::integer and e.position = v_id >> 20;
    end if;
    if coalesce(v_id = v_run, true) then
      return case when v_id = v_run then v_at end;
    end if;
  end loop;
  return null;
end $$;

comment on function tock.ready_since is 'Since when a run of a task that waited, or that goes on, has been ready or due; null when that can''t be seen.';

-- As arrays of one length make one of two dimensions, what adds them up takes them apart by its row.
create or replace function tock.sum_counts(p_counts bigint[])
returns bigint[]
language sql
immutable
as $$
  select case when pg_catalog.cardinality(p_counts) > 0 then array(
    select sum(c.n)::bigint from unnest(p_counts) with ordinality c(n, place) group by (c.place - 1) % 17
    order by (c.place - 1) % 17) end
$$;

comment on function tock.sum_counts is 'Arrays of counts, one after the other in one, added up; null when there are none.';
