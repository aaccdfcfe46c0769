-- A gate is a key of a queue with a limit. A task that names one waits, and whoever has the gate's row locked
-- lets in as many as there is room for, those that came first before the others. A task is inside from then on
-- until its final outcome (or, where the queue's gate_retry says yield, until an attempt fails). That it is over
-- follows from how the task stands, so nothing has to be taken back: no death, crash or lost worker leaves the
-- gate shut. What opens it (an end, a claim that passes over a cancelled one, promotion) only looks; the sweep
-- finds what a locked row made one of them miss.
create or replace function tock.lock_gates(p_queues text[], p_gates text[], p_wait boolean)
returns tock.gates[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_timeout text := pg_catalog.current_setting('lock_timeout');
  v_locked tock.gates[];
begin
  if p_wait then
    begin
      perform pg_catalog.set_config('lock_timeout', '100ms', true);
      v_locked := array(
        select g::tock.gates from tock.gates g
        where (g.queue, g.gate) in (select u.queue, u.gate from unnest(p_queues, p_gates) u (queue, gate))
        order by g.queue, g.gate for update);
      perform pg_catalog.set_config('lock_timeout', v_timeout, true);
      return v_locked;
    exception
      when lock_not_available then null;
    end;
  end if;
  return array(
    select g::tock.gates from tock.gates g
    where (g.queue, g.gate) in (select u.queue, u.gate from unnest(p_queues, p_gates) u (queue, gate))
    order by g.queue, g.gate for update skip locked);
end $$;

comment on function tock.lock_gates is 'Locks gates and returns those it got: waiting up to 100 ms for all of them, or without waiting.';

-- With the gates' rows locked, in a new statement: whoever had one before has committed, and what it let in or
-- sent to wait is seen. Those who wait are read upwards from the last one let in, as under a held-open
-- transaction the low end is full of dead entries; who committed late stands below, and is found by a look from
-- the bottom: every five seconds, and a twentieth of the time at most.
create or replace function tock.turn_gates(p_locked tock.gates[], p_bottom boolean default false)
returns integer
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_turns tock.turns[] := array(
    select t::tock.turns from unnest(p_locked) g
    cross join lateral (
      select t.* from tock.turns t where t.queue = g.queue and t.gate = g.gate
      order by t.queue desc, t.gate desc, t.number desc limit 1) t);
  v_inside tock.whereabout[] := array(
    select w from tock.whereabouts(array(select i from unnest(v_turns) t, unnest(t.inside) i)) w);
  v_gate tock.gates;
  v_turn tock.turns;
  v_policy tock.queues;
  v_next tock.turns;
  v_free integer;
  v_bottom boolean;
  v_heads bigint[];
  v_expired bigint[];
  v_more bigint[];
  v_in bigint[] := '{}';
  v_let_in integer := 0;
begin
  foreach v_gate in array p_locked loop
    if v_policy.name is distinct from v_gate.queue then
      v_policy := tock.policy(v_gate.queue);
    end if;
    select t.* into v_turn from unnest(v_turns) t where t.queue = v_gate.queue and t.gate = v_gate.gate;
    v_next := row(coalesce(v_turn.number, 0) + 1, coalesce(v_turn.last_position, 0), null, pg_catalog.clock_timestamp(),
      v_turn.looked_at, null, v_gate.queue, v_gate.gate, '{}')::tock.turns;
    -- who is inside still; those that failed, kept their turn, and have waited long enough go on
    select coalesce(pg_catalog.array_agg(i.task_id), '{}'), coalesce(pg_catalog.array_agg(w.position) filter (where w.due_at = 'infinity'), '{}')
      into v_next.inside, v_heads
    from unnest(v_turn.inside) u
    join unnest(v_inside) i on i.task_id = u and i.queue = v_gate.queue and i.state in ('waiting', 'ready', 'running')
    left join lateral (
      select w.position, w.due_at, w.replaces from tock.waiting w
      where w.position = i.current_id >> 20 and i.state = 'waiting' offset 0) w on true
    where i.state <> 'waiting' or (v_policy.gate_retry = 'keep' and w.replaces is null);
    v_in := v_in || array(
      select w.position from tock.waiting w where w.position = any (v_heads) order by w.position for update skip locked);
    v_free := case when v_gate.paused then 0 else coalesce(v_gate.gate_limit, v_policy.gate_limit) end
      - pg_catalog.cardinality(v_next.inside);
    if coalesce(v_gate.gate_rate_limit, v_policy.gate_rate_limit) is not null then
      v_next.level := tock.bucket_level(v_turn.level, v_turn.turned_at, v_next.turned_at,
        coalesce(v_gate.gate_rate_limit, v_policy.gate_rate_limit),
        coalesce(v_gate.gate_rate_seconds, v_policy.gate_rate_seconds),
        coalesce(v_gate.gate_rate_burst, v_policy.gate_rate_burst));
      v_free := least(v_free, pg_catalog.floor(v_next.level + 1e-9)::integer);
    end if;
    if v_turn.alarm is not null then
      if v_next.level < 1 and (
        select w.due_at > v_next.turned_at and w.due_at < 'infinity' from tock.waiting w where w.position = v_turn.alarm)
      then
        v_next.alarm := v_turn.alarm;
      else
        update tock.waiting w set due_at = 'infinity' where w.position = (
          select a.position from tock.waiting a where a.position = v_turn.alarm and a.due_at < 'infinity' for update skip locked);
      end if;
    end if;
    v_more := '{}';
    v_bottom := p_bottom or coalesce(v_turn.looked_at < v_next.turned_at - interval '5 seconds', true);
    for v_look in case when v_bottom then 2 else 1 end .. 2 loop
      while v_free > 0 loop
        select pg_catalog.array_agg(h.position) filter (where not h.expired), pg_catalog.array_agg(h.position) filter (where h.expired)
          into v_heads, v_expired
        from (
          select w.position, coalesce((w.options ->> 'expires_at')::timestamptz <= v_next.turned_at, false) as expired
          from tock.waiting w
          where w.queue = v_gate.queue and w.gate = v_gate.gate and w.due_at = 'infinity'
            and w.position > case v_look when 1 then v_next.last_position else 0 end
            and w.position <> all (v_in) and w.position <> all (v_more)
          order by w.queue, w.gate, w.position limit v_free for update skip locked) h;
        exit when v_heads is null and v_expired is null;
        v_more := v_more || coalesce(v_heads, '{}');
        v_in := v_in || coalesce(v_expired, '{}');
        v_free := v_free - coalesce(pg_catalog.cardinality(v_heads), 0);
        exit when v_expired is null;
      end loop;
    end loop;
    if v_bottom then
      v_next.looked_at := v_next.turned_at + 20 * (pg_catalog.clock_timestamp() - v_next.turned_at);
    end if;
    if pg_catalog.cardinality(v_more) > 0 then
      select v_next.inside || pg_catalog.array_agg(coalesce(w.task_id, w.position << 20)), greatest(v_next.last_position, max(w.position))
        into v_next.inside, v_next.last_position
      from tock.waiting w where w.position = any (v_more);
      v_next.level := v_next.level - pg_catalog.cardinality(v_more);
    end if;
    -- the last in the line is the alarm clock, as nobody is behind it
    if v_next.level < 1 and v_next.alarm is null and not v_gate.paused then
      v_next.alarm := (
        select w.position from tock.waiting w
        where w.queue = v_gate.queue and w.gate = v_gate.gate and w.due_at = 'infinity' and w.position <> all (v_in || v_more)
        order by w.queue desc, w.gate desc, w.position desc limit 1 for update skip locked);
      update tock.waiting w set due_at = v_next.turned_at + interval '1 second' * (1 - v_next.level)
        * coalesce(v_gate.gate_rate_seconds, v_policy.gate_rate_seconds)
        / coalesce(v_gate.gate_rate_limit, v_policy.gate_rate_limit)
      where w.position = v_next.alarm;
    end if;
    if pg_catalog.cardinality(v_more) > 0 or v_next.alarm is distinct from v_turn.alarm then
      insert into tock.turns select v_next.*;
      delete from tock.turns t where t.queue = v_gate.queue and t.gate = v_gate.gate and t.number = v_next.number - 100;
    end if;
    v_let_in := v_let_in + pg_catalog.cardinality(v_more);
    v_in := v_in || v_more;
  end loop;
  if pg_catalog.cardinality(v_in) > 0 then
    perform tock.make_ready(v_in);
  end if;
  return v_let_in;
end $$;

comment on function tock.turn_gates is 'Lets in through locked gates whoever there is room for, first come, first served; returns how many.';

create or replace function tock.bucket_level(
  p_level double precision, p_at timestamptz, p_now timestamptz, p_limit integer, p_seconds integer, p_burst integer)
returns double precision
language sql
immutable
as $$
  select least(coalesce(p_burst, p_limit)::float8,
    coalesce(p_level, coalesce(p_burst, p_limit)) + greatest(extract(epoch from p_now - p_at)::float8, 0) * p_limit / p_seconds)
$$;

comment on function tock.bucket_level is
  'How many a bucket holds that had p_level at p_at and gets p_limit each p_seconds, up to p_burst (p_limit when null); full where it had no level.';
