-- A queue's streams and how they are read: up to 200 of the next runs each, from the open lease on.
create or replace function tock.looked_at_stream(p_stream integer)
returns table (oldest_at timestamptz, ready integer, tenants integer, claimed_at timestamptz, at_work boolean, lost_id bigint, lost integer)
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
  v_after bigint := tock.cursor_of(p_stream);
  v_epoch integer := tock.epoch_of(coalesce(tock.first_unread(p_stream, v_after), v_after));
  v_lease record;
  v_from bigint := v_after;
begin
  if v_epoch is null then
    return;
  end if;
  execute pg_catalog.format('select l.claimed_at, l.after_position, l.closed_at is null and l.leased_until > pg_catalog.clock_timestamp() as open
    from tock.leases_%s l where l.stream = $1 order by l.stream desc, l.after_position desc limit 1', v_epoch)
    into v_lease using p_stream;
  if v_lease.open then
    v_from := v_lease.after_position;
  end if;
  return query execute pg_catalog.format($q$
    select min(n.created_at) filter (where n.position > $2), (count(*) filter (where n.position > $2))::integer,
      (count(distinct n.tenant) filter (where n.position > $2))::integer, $4, $5, max(n.id) filter (where n.lost >= 3), max(n.lost)::integer
    from (
      select r.position, r.created_at, r.tenant, r.lost, coalesce(r.task_id, r.position << 20 | r.stream) as id
      from tock.runs_%s r where r.stream = $1 and r.position > $3 order by r.stream, r.position limit 200) n$q$, v_epoch)
    using p_stream, v_after, v_from, v_lease.claimed_at, coalesce(v_lease.open, false);
end $$;

comment on function tock.looked_at_stream is 'Of a stream''s next 200 runs, those of its newest lease while that is open among them: since when, how many, of how many tenants, when last claimed, and one that has lost its workers.';

-- The first 200 queues that have streams awake, of each up to 32 streams, 500 in all: so it costs the same with any backlog.
create or replace function tock.looked_at_queues()
returns table (queue text, lane integer, oldest_at timestamptz, ready integer, tenants integer, claimed_at timestamptz,
  at_work boolean, lost_id bigint, lost integer)
language sql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
  with recursive awake (queue, n) as (
    (select s.queue, 1 from tock.streams s where s.awake order by s.queue limit 1)
    union all
    select (select s.queue from tock.streams s where s.awake and s.queue > a.queue order by s.queue limit 1), a.n + 1
    from awake a where a.queue is not null and a.n < 200
  ), chosen as materialized (
    select s.* from awake a
    cross join lateral (
      select s.queue, s.lane & 1023 as lane, s.number from tock.streams s
      where s.awake and s.queue = a.queue order by s.queue, s.priority limit 32) s
    limit 500)
  select c.queue, c.lane, l.oldest_at, l.ready, l.tenants, l.claimed_at, l.at_work, l.lost_id, l.lost
  from chosen c cross join lateral tock.looked_at_stream(c.number) l
$$;

comment on function tock.looked_at_queues is 'looked_at_stream() of up to 500 streams that are awake, with their queue and lane.';

-- One tenant alone in its lane harms nobody, and needs no other lane. A limit, a rate or a push of the queue's own may be why nothing is claimed: of those other findings speak.
create or replace function tock.doctor_of_queues()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  with looked as materialized (
    select * from tock.looked_at_queues()
  ), queues as materialized (
    select l.queue, q as policy, tock.is_paused(q) as paused, min(l.oldest_at) as oldest_at, max(l.claimed_at) as claimed_at,
      bool_or(l.at_work) as at_work
    from looked l join tock.queues q on q.name = l.queue group by l.queue, q)
  (select 'nobody claims from a queue', 'warning',
    pg_catalog.format('a task of queue %s is ready since %s, and none was claimed since %s', q.queue,
      pg_catalog.to_char(q.oldest_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
      coalesce(pg_catalog.to_char(q.claimed_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'it is there')),
    pg_catalog.format('start a worker for it, or see why it finds nothing: tock claim %s; if it is no longer wanted: tock drop %1$s', q.queue)
  from queues q
  where q.oldest_at < pg_catalog.clock_timestamp() - interval '10 minutes' and not q.paused and not q.at_work
    and coalesce(q.claimed_at < pg_catalog.clock_timestamp() - interval '10 minutes', true)
    and coalesce((q.policy).max_running, (q.policy).rate_limit) is null and (q.policy).push is null
  order by q.oldest_at limit 5)
  union all
  (select 'a paused queue keeps tasks', 'warning',
    pg_catalog.format('queue %s is paused, and a task in it is ready since %s', q.queue,
      pg_catalog.to_char(q.oldest_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
    pg_catalog.format('select tock.put_queue(%L, ''{"paused": false}''), or tock purge %s', q.queue, q.queue)
  from queues q
  where q.oldest_at < pg_catalog.clock_timestamp() - interval '1 day' and q.paused
  order by q.oldest_at limit 5)
  union all
  (select 'tasks lose their workers again and again', 'warning',
    pg_catalog.format('task %s of queue %s: %s runs whose worker vanished', l.lost_id, l.queue, l.lost),
    pg_catalog.format('see whether it ends its worker (memory, a crash) or takes longer than its lease: tock task %1$s; to give it up: tock cancel %1$s', l.lost_id)
  from looked l where l.lost_id is not null order by l.lost desc, l.lost_id limit 5)
  union all
  (select 'a lane has nearly all of a queue', 'warning',
    pg_catalog.format('lane %s of queue %s has at least %s tasks ready of several tenants, all the others together %s', l.lane, l.queue,
      l.ready, l.others),
    pg_catalog.format('tenants that share a lane wait for each other: select tock.put_queue(%L, ''{"lanes": %s}'')', l.queue,
      least(64, 4 * (l.policy).lanes))
  from (
    select l.queue, l.lane, sum(l.ready) as ready, max(l.tenants) as tenants, sum(sum(l.ready)) over (partition by l.queue) - sum(l.ready) as others,
      q as policy
    from looked l join tock.queues q on q.name = l.queue group by l.queue, l.lane, q) l
  where l.tenants > 1 and l.ready >= 200 and 20 * l.others < l.ready and (l.policy).lanes < 64
  order by l.ready desc, l.queue limit 5)
$$;

comment on function tock.doctor_of_queues is 'What doctor() says of queues with tasks that nobody takes, and of tasks that end their workers.';
