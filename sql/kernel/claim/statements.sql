-- A queue's streams in the order in which a claim looks at them, and each one's cursor: priority first, lanes
-- and slots shuffled by the seed. What one tenant enqueued in bulk (lanes from 512) comes behind the others,
-- and in one claim of 24 before them. A stream that was not yet claimed from in this epoch has no cursor and goes
-- the slow way.
-- The fences of offset 0 keep the look-ups behind the order, so that they end at the limit.
-- $1 queue, $2 seed, $3 streams seen before
create or replace function tock.cursors_statement(p_epoch integer, p_first bigint, p_seen boolean)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
      (
        select t.number, t.priority, t.start_after, t.lane from tock.streams t
        where t.queue = $1 and t.awake%3$s
        order by t.priority, (t.lane & 512 <> 0) = ($2 %% 24 <> 0), pg_catalog.hashint4extended(t.lane, $2),
          pg_catalog.hashint4extended(t.slot, $2)
        offset 0) s
      cross join lateral (
        select case when s.start_after >= %2$s - 1 then greatest(s.start_after, coalesce((
          select l.last_position from tock.leases_%1$s l where l.stream = s.number
          order by l.stream desc, l.after_position desc limit 1), 0)) end as after_position offset 0) c$q$,
    p_epoch, p_first, case when p_seen then ' and t.number <> all ($3)' end)
$$;

comment on function tock.cursors_statement is
  'The part of a statement that gives streams (s) and their cursors (c), with an epoch in use and its first position.';

-- It takes no locks; a stream without a cursor comes unlooked at. One of runs with options (lanes from 1024)
-- comes when something is unread, and without its cursor, for the slow way. $1 to $3 as above, $4 how many
create or replace function tock.candidates_statement(p_epoch integer, p_first bigint)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    select s.number as stream, s.priority, case when s.lane < 1024 then c.after_position end as after_position
    from %2$s
    where c.after_position is null
      or (select r.position from tock.runs_%1$s r where r.stream = s.number and r.position > c.after_position
          order by r.stream, r.position limit 1) is not null
    limit $4$q$, p_epoch, tock.cursors_statement(p_epoch, p_first, true))
$$;

comment on function tock.candidates_statement is 'The statement that finds streams to draw from.';

-- For a claim of one: the first run above a cursor whose stream this session can lock. Of streams that have
-- something and are locked tock.claim says busy. The lock is asked for once the run was found, which is why
-- it hangs on the run's position, and the snapshot is older than the lock: what may have changed between
-- them is asked again by whoever writes the lease. A stream of runs with options that has something comes with
-- no position, for the slow way. $1 queue, $2 seed
create or replace function tock.next_statement(p_epoch integer, p_first bigint)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    select s.number as stream, s.priority, c.after_position, case when s.lane < 1024 then r.unread end as position, r.*
    from %2$s
    left join lateral (
      select r.position as unread, r.task_id, r.attempt, r.max_attempts as own_attempts, r.tenant, r.created_at, r.payload
      from tock.runs_%1$s r where r.stream = s.number and r.position > c.after_position
      order by r.stream, r.position limit 1) r on true
    where case
      when c.after_position is null then true
      when r.unread is null then false
      when s.lane >= 1024 then true
      when pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), s.number) then true
      else pg_catalog.set_config('tock.claim', 'busy', true) is null end
    limit 1$q$, p_epoch, tock.cursors_statement(p_epoch, p_first, false))
$$;

comment on function tock.next_statement is 'The statement that finds, locks and reads what a claim of one takes.';

-- Read with the stream's claim lock held, in a statement of its own: from then on it can't move. $1 stream
create or replace function tock.cursor_statement(p_epoch integer)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    select greatest(s.start_after, coalesce((
      select l.last_position from tock.leases_%1$s l where l.stream = $1
      order by l.stream desc, l.after_position desc limit 1), 0))
    from tock.streams s where s.number = $1$q$, p_epoch)
$$;

comment on function tock.cursor_statement is 'The statement that reads the cursor of a stream that has come to an epoch.';

-- The runs are of one epoch, the lease's own. That neither the newest lease nor start_after is above the
-- cursor is asked in the statement's own snapshot: since the cursor was read somebody else may have claimed,
-- or the stream may have slept and woken. So is that nothing marked is among them.
-- $1 stream, $2 cursor, $3 limit, $4 token, $5 worker, $6 until, $7 bytes, $8 one at least,
-- $9 max_attempts, $10 priority, and of those marked $11 skips, $12 the last position to look at
create or replace function tock.draw_statement(p_epoch integer, p_marked boolean default false)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    with picked as materialized (
      select n.* from (
        select r.*, sum(r.cost) over (order by r.position) as upto
        from (
          select r.position, r.task_id, r.attempt, r.max_attempts, r.tenant, r.created_at, r.payload,
            r.bytes + 128 + 4 * coalesce(octet_length(r.tenant), 0) as cost%5$s
          from tock.runs_%1$s r where r.stream = $1 and r.position > $2
            and (select s.start_after from tock.streams s where s.number = $1) <= $2
            and coalesce((
              select l.last_position from tock.leases_%1$s l where l.stream = $1
              order by l.stream desc, l.after_position desc limit 1), 0) <= $2%2$s
          order by r.stream, r.position limit $3) r) n
      where n.upto <= $7 or ($8 and n.upto = n.cost)
    ), leased as (
      insert into tock.leases_%1$s (stream, after_position, last_position, runs, token, worker, leased_until%3$s)
      select $1, $2, p.last_position, p.runs, $4, $5, $6%4$s
      from (select max(p.position) as last_position, count(*) as runs%6$s from picked p) p
      where p.runs > 0
    )
    select $4, $6, coalesce(p.task_id, p.position << 20 | $1), p.position << 20 | $1, p.attempt::integer,
      coalesce(p.max_attempts, $9)::integer, $10::integer, p.tenant, p.created_at, p.payload
    from picked p$q$, p_epoch,
    case when p_marked then ' and r.position <> all ($11) and r.position <= $12'
      else pg_catalog.format(' and (%1$s is null or $3 = (
            select count(*) from (
              select from tock.runs_%2$s b where b.stream = $1 and b.position > $2 and b.position < %1$s
              order by b.stream, b.position limit $3) b))',
        pg_catalog.format('(select m.position from tock.marks_%s m where m.stream = $1 and m.position > $2
          order by m.stream, m.position limit 1)', p_epoch), p_epoch) end,
    case when p_marked then ', skipped, skips, timeout_at' end,
    case when p_marked then ', (select count(*) from unnest($11) k where k <= p.last_position),
        nullif(array(select k from unnest($11) k where k <= p.last_position), ''{}''),
        pg_catalog.clock_timestamp() + p.timeout_seconds * interval ''1 second''' end,
    case when p_marked then ', (r.options ->> ''timeout_seconds'')::integer as timeout_seconds' end,
    case when p_marked then ', max(p.timeout_seconds) as timeout_seconds' end)
$$;

comment on function tock.draw_statement is
  'The statement that leases what lies above a stream''s cursor in an epoch and returns it, in order.';
