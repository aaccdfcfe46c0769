create or replace function tock.check_claim(p_queue text, p_worker text, p_limit integer, p_lease_seconds integer)
returns void
language plpgsql
immutable
as $$
begin
  perform tock.check_queue_name(p_queue);
  if p_limit is null or p_limit not between 1 and 10000 then
    perform tock.refuse(422, 'limit is a whole number from 1 to 10000', 'limit');
  end if;
  if p_lease_seconds not between 1 and 86400 then
    perform tock.refuse(422, 'lease_seconds is a whole number from 1 to 86400', 'lease_seconds');
  end if;
  if pg_catalog.length(p_worker) > 200 then
    perform tock.refuse(422, 'worker is a name of up to 200 characters', 'worker');
  end if;
end $$;

comment on function tock.check_claim is 'Raises TK422 for arguments that claim() doesn''t take.';

-- What the caller says is believed unless it is plainly wrong: called from a function, something
-- written before, or another isolation. Nothing shows what the rest of the statement or transaction
-- will write, and an asynchronous commit would weaken that: so it is never assumed.
create or replace function tock.is_alone(p_alone boolean, p_context text)
returns boolean
language sql
volatile
as $$
  select p_alone
    and pg_catalog.strpos(p_context, E'\n') = 0
    and pg_catalog.pg_current_xact_id_if_assigned() is null
    and pg_catalog.current_setting('transaction_isolation') = 'read committed'
$$;

comment on function tock.is_alone is
  'Whether the calling verb may take itself for the whole transaction; p_context is its PG_CONTEXT.';

-- A promotion stands for up to ten entries that are dead now: so many are read again, and no more, whatever is
-- held open. Where there are no gates nobody asks.
create or replace function tock.late_from()
returns timestamptz
language plpgsql
volatile
as $$
begin
  return (
    select min(n.due_at) from (
      select p.due_at from tock.promotions p where p.due_at > '-infinity' order by p.due_at desc limit 50) n);
end $$;

comment on function tock.late_from is 'From when on promotion looks for tasks with gates whose enqueueing was committed late: the fiftieth newest due time promoted.';

-- PostgreSQL raises the same error, query_canceled, for a statement_timeout and for a call that somebody cancels.
create or replace function tock.is_out_of_time()
returns boolean
language sql
volatile
as $$
  select t.most > interval '0' and pg_catalog.clock_timestamp() - pg_catalog.statement_timestamp() >= 0.9 * t.most
  from (select pg_catalog.current_setting('statement_timeout')::interval as most) t
$$;

comment on function tock.is_out_of_time is 'Whether the calling statement has taken as long as statement_timeout lets it, or nearly.';

-- Due work is promoted on the way; the sweeps belong to pg_cron and are done here only when late. None of it may
-- fail the claim or hold it up for long: what goes wrong here goes wrong in the duties too, and is on record there. A
-- cancelled claim ends, as nobody waits for what it would hand out.
create or replace function tock.ride_along()
returns boolean
language plpgsql
volatile
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_late text[];
  v_due boolean;
  v_fires boolean;
  v_limit integer := 100;
begin
  select
    array(
      select d.name from tock.duties d
      where d.name in ('promote', 'reap', 'rotate', 'schedules') and coalesce(d.last_started_at, '-infinity')
        < v_now - interval '1 second' * case
          when d.name = 'promote' then greatest(d.every_seconds, case d.last_amount when 0 then least(60, 20 * d.last_seconds) end)
          when d.name = 'rotate' and tock.hot_epoch() is null then 1
          when d.name = 'schedules' then 75
          else d.every_seconds * 15 end),
    exists (
      select from tock.waiting w
      where w.due_at <= v_now and w.due_at >= coalesce(
        (select tock.late_from() from tock.gates g order by g.queue, g.gate limit 1),
        (select p.due_at from tock.promotions p order by p.due_at desc limit 1), '-infinity')
      order by w.due_at limit 1),
    exists (
      select from tock.fires f
      where f.due_at <= v_now and (f.due_at, f.schedule) >= (
        select m.due_at, m.schedule from (
          (select d.due_at, d.schedule from tock.fired d where d.due_at <= v_now
            order by d.due_at desc, d.schedule desc offset 49 limit 1)
          union all select '-infinity', '') m
        order by m.due_at desc limit 1)
      order by f.due_at, f.schedule limit 1)
    into v_late, v_due, v_fires;
  if v_late <> '{}' then
    perform tock.run_duty(d, 0) from unnest(v_late) d where not tock.is_out_of_time();
  end if;
  if v_fires and not tock.is_out_of_time() then
    begin
      perform tock.fire_schedules(100);
    exception when others or query_canceled then
      if sqlstate = '57014' and not tock.is_out_of_time() then
        raise;
      end if;
      raise warning 'tock: firing schedules on the way of a claim failed: % %', sqlstate, sqlerrm;
    end;
  end if;
  if v_due and not tock.is_out_of_time() then
    begin
      -- in growing batches, for a twentieth of a second
      while tock.promote(v_limit) > 0 and pg_catalog.clock_timestamp() < v_now + interval '0.05 s' loop
        v_limit := least(1000, v_limit * 3);
      end loop;
    exception when others or query_canceled then
      if sqlstate = '57014' and not tock.is_out_of_time() then
        raise;
      end if;
      raise warning 'tock: promotion on the way of a claim failed: % %', sqlstate, sqlerrm;
    end;
  end if;
  return v_due or v_fires or pg_catalog.cardinality(v_late) > 0;
end $$;

comment on function tock.ride_along is 'What a claim does for everybody before it looks for itself: fire and promote what is due, and do duties that are late: the sweep of waiting after 5 s, reaping and epochs after 15 times their interval, the sweep of schedules after 75 s. Whether there was anything to do.';

-- It begins with the cursor, so that what is claimed together lies together in the index on token (random
-- tokens wrote a page each after a checkpoint, see ARCHITECTURE.md). 62 bits are random, as many as it takes
-- that nobody guesses a lease: a token alone lets in nobody without a role or a key. The first bit is 0.
create or replace function tock.new_token(p_epoch integer, p_after bigint, p_version text default '4')
returns uuid
language sql
volatile
as $$
  select pg_catalog.overlay(pg_catalog.overlay(pg_catalog.overlay(pg_catalog.gen_random_uuid()::text,
      pg_catalog.lpad(pg_catalog.to_hex(p_after & 2147483647), 8, '0'), 1),
      p_version, 15),
      pg_catalog.lpad(pg_catalog.to_hex(p_epoch), 7, '0'), 30)::uuid
$$;

comment on function tock.new_token is 'A lease''s token: 31 bits of the cursor it was claimed at, random bits, the epoch in its last 28. Version 5 says that its runs have options.';

-- A lease of one run is found by its own key, so that no index on token is written when it is claimed and
-- when it ends (that index is of those where alone is null). 42 bits are random.
create or replace function tock.new_token_of_one(p_epoch integer, p_stream integer, p_after bigint)
returns uuid
language sql
volatile
as $$
  select pg_catalog.overlay(pg_catalog.overlay(pg_catalog.overlay(pg_catalog.gen_random_uuid()::text,
      pg_catalog.to_hex(p_after & 2147483647 | 2147483648), 1),
      '8', 15),
      pg_catalog.lpad(pg_catalog.to_hex(p_stream), 5, '0') || pg_catalog.lpad(pg_catalog.to_hex(p_epoch), 7, '0'), 25)::uuid
$$;

comment on function tock.new_token_of_one is 'The token of a lease of one run: the first bit 1, 31 bits of the cursor, version 8, random bits, the stream in 20 bits, the epoch in the last 28.';

create or replace function tock.is_of_one(p_lease uuid)
returns boolean
language sql
immutable
as $$
  select pg_catalog.get_byte(pg_catalog.uuid_send(p_lease), 0) > 127
    and pg_catalog.get_byte(pg_catalog.uuid_send(p_lease), 6) >> 4 = 8
$$;

comment on function tock.is_of_one is 'Whether a lease has one run, and always had, and its token says where it lies: see new_token_of_one().';

create or replace function tock.token_stream(p_lease uuid)
returns integer
language sql
immutable
as $$
  select ('x' || pg_catalog.substr(p_lease::text, 25, 5))::bit(20)::integer
$$;

comment on function tock.token_stream is 'The stream of a lease of one run, from its token.';

create or replace function tock.token_cursor(p_lease uuid, p_first bigint)
returns bigint
language sql
immutable
as $$
  select p_first - 1 + (('x' || pg_catalog.left(p_lease::text, 8))::bit(32)::bigint - (p_first - 1) & 2147483647)
$$;

comment on function tock.token_cursor is 'The after_position of a lease of one run, from its token and the first position of its epoch, which is at most 2^30 wide.';

-- The rows l of a lease, as each of the two kinds is found. Of an epoch that was dropped just now there are none: its
-- tables are missed by whoever runs the statement. $1 token
create or replace function tock.lease_condition(p_epoch integer, p_one boolean)
returns text
language sql
stable
as $$
  select case when p_one then pg_catalog.format(
    'l.stream = tock.token_stream($1) and l.after_position = tock.token_cursor($1, %s) and l.token = $1',
    coalesce((select e.first_position from tock.epochs e where e.number = p_epoch), 0))
  else 'l.token = $1 and l.alone is null' end
$$;

comment on function tock.lease_condition is 'The condition for the rows l of a lease of an epoch; p_one as is_of_one() says.';

create or replace function tock.lease_rows(p_epoch integer)
returns text
language sql
stable
as $$
  select pg_catalog.format('select l.* from tock.leases_%1$s l where %2$s and not tock.is_of_one($1)
      union all select l.* from tock.leases_%1$s l where %3$s and tock.is_of_one($1)',
    p_epoch, tock.lease_condition(p_epoch, false), tock.lease_condition(p_epoch, true))
$$;

comment on function tock.lease_rows is 'The statement that reads a lease''s rows, whichever kind it is; $1 token.';

create or replace function tock.lease_asks(p_lease uuid)
returns boolean
language sql
immutable
as $$
  select pg_catalog.substr(p_lease::text, 15, 1) = '5'
$$;

comment on function tock.lease_asks is 'Whether a lease is of runs with options: see new_token().';

create or replace function tock.stream_asks(p_stream integer)
returns boolean
language plpgsql
stable
as $$
begin
  return (select s.lane >= 1024 from tock.streams s where s.number = p_stream);
end $$;

comment on function tock.stream_asks is 'Whether a stream is of runs with options.';

create or replace function tock.leased_runs(p_lease uuid)
returns table (
  lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer, max_attempts integer,
  priority integer, tenant text, created_at timestamptz, payload jsonb)
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_epoch integer := tock.lease_epoch(p_lease);
begin
  if v_epoch is not null then
    return query execute pg_catalog.format($q$
      with leased as materialized (
        select l.* from tock.leases_%1$s l
        where %2$s and l.closed_at is null and l.leased_until > pg_catalog.clock_timestamp())
      select l.token, l.leased_until, coalesce(r.task_id, r.position << 20 | r.stream), r.position << 20 | r.stream,
        r.attempt::integer, coalesce(r.max_attempts, (tock.policy(s.queue)).max_attempts)::integer,
        s.priority::integer, r.tenant, r.created_at, r.payload
      from leased l
      join tock.streams s on s.number = l.stream
      cross join lateral (
        select r.* from tock.runs_%1$s r
        where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
          and r.position <> all (coalesce(l.skips, '{}'))
        offset 0) r
      where (select e.position from tock.results_%1$s e where e.stream = r.stream and e.position = r.position) is null
      order by s.priority, r.position$q$, v_epoch, tock.lease_condition(v_epoch, tock.is_of_one(p_lease))) using p_lease;
  end if;
end $$;

comment on function tock.leased_runs is 'The runs of an open lease that have not ended, as its claim returned them; none when its time is up.';

create or replace function tock.lease_has_ended()
returns void
language plpgsql
immutable
as $$
begin
  perform tock.refuse(409, 'the lease of the claim with this request_id has ended', 'request_id',
    'claim again with a new request_id');
end $$;

comment on function tock.lease_has_ended is 'Raises TK409: what a repeated claim is told when nothing is left of what it was given.';
