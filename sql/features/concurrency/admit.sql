-- With the gates' rows locked, in a new statement: whoever had one before has committed, and what it let in
-- or sent to wait is seen. The line is read upwards from the last ticket let in, as under a held-open
-- transaction its beginning is full of dead entries; who committed late stands below, and is found by a look
-- from the beginning: every five seconds, and a twentieth of the time at most. Of those in the line that have
-- expired up to 1,000 a turn are sent on, to be passed over. A rerun's gate lets in one, whatever the queue
-- says. Of many gates in one call each adds to long arrays one by one: a slice, or two arrays in one, would
-- copy all of it for each gate.
create or replace function tock.turn_gates(p_locked tock.gates[], p_sweep boolean default false)
returns integer
language plpgsql
volatile
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_turns tock.turns[] := array(
    select (
      select t::tock.turns from tock.turns t where t.queue = g.queue and t.gate = g.gate
      order by t.queue desc, t.gate desc, t.number desc limit 1)
    from unnest(p_locked) with ordinality g order by g.ordinality);
  v_ids bigint[] := array(
    select i.id from unnest(v_turns) with ordinality t
    cross join lateral unnest(t.inside) with ordinality i (id, n) order by t.ordinality, i.n);
  v_states tock.whereabout[] := pg_catalog.array_fill(null::tock.whereabout,
    array[pg_catalog.cardinality(v_ids)]);
  v_at tock.whereabout;
  v_here tock.whereabout[];
  v_seen integer := 0;
  v_n integer := 0;
  v_gate tock.gates;
  v_turn tock.turns;
  v_policy tock.queues;
  v_own boolean;
  v_next tock.turns;
  v_still record;
  v_free integer;
  v_rate integer;
  v_seconds integer;
  v_bottom boolean;
  v_live bigint[];
  v_expired bigint[];
  v_upto bigint;
  v_last bigint;
  v_gone integer;
  v_more bigint[];
  v_due timestamptz;
  v_id bigint;
  v_going bigint[];
  v_in bigint[] := '{}';
  v_let_in integer := 0;
begin
  for v_at in select w.* from tock.whereabouts(v_ids) w loop
    v_states[v_at.n] := v_at;
  end loop;
  foreach v_gate in array p_locked loop
    v_n := v_n + 1;
    v_turn := v_turns[v_n];
    if v_policy.name is distinct from v_gate.queue then
      v_policy := tock.policy(v_gate.queue);
    end if;
    v_own := v_gate.gate like 'key:%';
    v_next := row(coalesce(v_turn.number, 0) + 1, coalesce(v_turn.last_ticket, 0), null,
      pg_catalog.clock_timestamp(), v_turn.looked_at, null, v_gate.queue, v_gate.gate, '{}')::tock.turns;
    v_here := '{}';
    for v_k in 1 .. coalesce(pg_catalog.cardinality(v_turn.inside), 0) loop
      v_seen := v_seen + 1;
      v_here := v_here || v_states[v_seen];
    end loop;
    v_still := tock.still_inside(v_gate.queue, v_own or v_policy.gate_retry = 'keep', v_here, p_sweep);
    v_next.inside := v_still.inside;
    v_going := array(
      select w.position from tock.waiting w where w.position = any (v_still.back) and not v_gate.paused
      order by w.position for update skip locked);
    v_free := case when v_gate.paused then 0 when v_own then coalesce(v_gate.gate_limit, 1)
      else coalesce(v_gate.gate_limit, v_policy.gate_limit) end - pg_catalog.cardinality(v_next.inside);
    v_rate := coalesce(v_gate.gate_rate_limit, case when not v_own then v_policy.gate_rate_limit end);
    v_seconds := coalesce(v_gate.gate_rate_seconds, v_policy.gate_rate_seconds);
    if v_rate is not null then
      v_next.level := tock.bucket_level(v_turn.level, v_turn.turned_at, v_next.turned_at, v_rate, v_seconds,
        coalesce(v_gate.gate_rate_burst, v_policy.gate_rate_burst));
      v_free := least(v_free, pg_catalog.floor(v_next.level + 1e-9)::integer);
    end if;
    if v_turn.alarm is not null then
      v_due := v_next.turned_at + interval '1 second' * (1 - v_next.level) * v_seconds / v_rate;
      -- still to come, at the time that the rate says now; else it stands in the line again
      update tock.waiting w set due_at = case when v_next.level < 1 then v_due else 'infinity' end
      where w.position = (
          select a.position from tock.waiting a
          where a.position = v_turn.alarm and a.ticket is not null and a.due_at < 'infinity'
          for update skip locked)
        and (coalesce(v_next.level, 1) >= 1
          or w.due_at not between v_due - interval '10 ms' and v_due + interval '10 ms');
      v_next.alarm := (
        select a.position from tock.waiting a where a.position = v_turn.alarm and a.ticket is not null
          and a.due_at < 'infinity');
    end if;
    v_more := '{}';
    v_gone := 0;
    v_bottom := v_free > 0
      and (p_sweep or coalesce(v_turn.looked_at < v_next.turned_at - interval '5 seconds', true));
    for v_look in 1 .. case when v_bottom then 1 else 2 end loop
      v_last := case when v_look = 1 and not v_bottom then v_next.last_ticket else 0 end;
      while v_free > 0 and v_gone < 1000 loop
        select pg_catalog.array_agg(h.position order by h.ticket) filter (where not h.expired),
            pg_catalog.array_agg(h.position) filter (where h.expired), max(h.ticket)
          into v_live, v_expired, v_upto
        from (
          select s.*, count(*) filter (where not s.expired) over (order by s.ticket) as alive
          from (
            select w.position, w.ticket,
              coalesce((w.options ->> 'expires_at')::timestamptz <= v_next.turned_at, false) as expired
            from tock.waiting w
            where w.queue = v_gate.queue and w.gate = v_gate.gate and w.due_at = 'infinity'
              and w.ticket > v_last
              and (v_look = 1 or w.ticket <= coalesce(v_turn.last_ticket, 0))
              and w.position <> all (v_still.back)
            order by w.queue, w.gate, w.ticket limit v_free + least(v_gone, 50) for update skip locked) s) h
        where h.alive < v_free or (h.alive = v_free and not h.expired);
        exit when v_upto is null;
        v_last := v_upto;
        v_more := v_more || coalesce(v_live, '{}');
        v_going := v_going || coalesce(v_expired, '{}');
        v_free := v_free - coalesce(pg_catalog.cardinality(v_live), 0);
        v_gone := v_gone + coalesce(pg_catalog.cardinality(v_expired), 0);
      end loop;
    end loop;
    if v_bottom then
      v_next.looked_at := v_next.turned_at + 20 * (pg_catalog.clock_timestamp() - v_next.turned_at);
    end if;
    if pg_catalog.cardinality(v_more) > 0 then
      v_next.last_ticket := greatest(v_next.last_ticket, (
        select max(w.ticket) from tock.waiting w where w.position = any (v_more)));
      v_next.inside := v_next.inside || array(
        select t.id from (
          select distinct coalesce(w.task_id, tock.id_at(w.position, 0)) as id from tock.waiting w
          where w.position = any (v_more)) t
        where t.id <> all (v_next.inside));
      v_next.level := v_next.level - pg_catalog.cardinality(v_more);
      v_going := v_going || v_more;
    end if;
    -- the last in the line is the alarm clock, as nobody is behind it
    if v_next.level < 1 and v_next.alarm is null and not v_gate.paused then
      v_next.alarm := (
        select w.position from tock.waiting w
        where w.queue = v_gate.queue and w.gate = v_gate.gate and w.due_at = 'infinity' and w.ticket > 0
          and w.position <> all (v_going)
        order by w.queue desc, w.gate desc, w.ticket desc limit 1 for update skip locked);
      update tock.waiting w
      set due_at = v_next.turned_at + interval '1 second' * (1 - v_next.level) * v_seconds / v_rate
      where w.position = v_next.alarm;
    end if;
    if pg_catalog.cardinality(v_more) > 0 or v_next.alarm is distinct from v_turn.alarm or v_bottom then
      insert into tock.turns select v_next.*;
      delete from tock.turns t where t.queue = v_gate.queue and t.gate = v_gate.gate
        and t.number <= v_next.number - 100;
    end if;
    v_let_in := v_let_in + pg_catalog.cardinality(v_more);
    foreach v_id in array v_going loop
      v_in := v_in || v_id;
    end loop;
  end loop;
  if pg_catalog.cardinality(v_in) > 0 then
    perform tock.make_ready(v_in);
  end if;
  return v_let_in;
end $$;

comment on function tock.turn_gates is
  'Lets in through locked gates whoever there is room for, first come, first served; returns how many.';
