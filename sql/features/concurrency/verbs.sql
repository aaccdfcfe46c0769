create or replace function tock.check_gate(p_queue text, p_gate text)
returns void
language plpgsql
volatile
as $$
begin
  perform tock.check_queue_name(p_queue);
  if p_gate is null or pg_catalog.length(p_gate) not between 1 and (
    case when p_gate like 'key:%' then 504 else 200 end)
  then
    perform tock.refuse(422, 'a gate is a string of 1 to 200 characters', 'gate');
  elsif pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform tock.refuse(409,
      'gates are set in read committed: an older snapshot doesn''t show who came in since');
  end if;
end $$;

comment on function tock.check_gate is 'Raises TK422 for what can''t be a gate.';

-- inside and waiting are of one moment, waiting up to 1,000.
create or replace function tock.gates(
  p_queue text, p_gate text default null, p_after text default null, p_limit integer default 100)
returns table (
  gate text, paused boolean, gate_limit integer, gate_rate_limit integer, gate_rate_seconds integer,
  gate_rate_burst integer, inside bigint[], waiting integer)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_policy tock.queues := tock.policy(p_queue);
begin
  perform tock.check_queue_name(p_queue);
  if coalesce(p_limit, 0) not between 1 and 1000 then
    perform tock.refuse(422, 'limit is a whole number from 1 to 1000', 'limit');
  end if;
  return query
    select g.gate, g.paused,
      coalesce(g.gate_limit, case when g.gate like 'key:%' then 1 else v_policy.gate_limit end),
      coalesce(g.gate_rate_limit, case when g.gate not like 'key:%' then v_policy.gate_rate_limit end),
      coalesce(g.gate_rate_seconds, v_policy.gate_rate_seconds),
      coalesce(g.gate_rate_burst, v_policy.gate_rate_burst),
      tock.inside_gate(g.queue, g.gate, v_policy.gate_retry), n.waiting
    from (
      select o.* from tock.gates o
      where o.queue = p_queue and (p_gate is null or o.gate = p_gate) and o.gate > coalesce(p_after, '')
      order by o.queue, o.gate limit p_limit) g
    cross join lateral (
      select count(*)::integer as waiting from (
        select from tock.waiting w
        where w.queue = g.queue and w.gate = g.gate and w.ticket is not null
        order by w.queue, w.gate, w.ticket limit 1000) w) n
    order by g.gate;
end $$;

comment on function tock.gates is
  'Gates of a queue that tasks have named or that were set, from after p_after on: their settings, the tasks '
  'inside, and how many wait (up to 1,000).';

create or replace function tock.inside_gate(p_queue text, p_gate text, p_retry text)
returns bigint[]
language plpgsql
volatile
as $$
begin
  return (
    select s.inside from tock.still_inside(p_queue, p_retry = 'keep' or p_gate like 'key:%', array(
      select w from tock.whereabouts((
        select t.inside from tock.turns t where t.queue = p_queue and t.gate = p_gate
        order by t.queue desc, t.gate desc, t.number desc limit 1)) w order by w.n), false) s);
end $$;

comment on function tock.inside_gate is 'The tasks that a gate has let in and that are not over.';

-- What is null goes by the queue again. Whoever there is room for now is let in.
create or replace function tock.put_gate(p_queue text, p_gate text, p_settings jsonb default '{}')
returns tock.gates
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set lock_timeout = '2s'
as $$
declare
  v_option record;
  v_settings jsonb := '{}';
  v_row tock.gates;
begin
  perform tock.check_gate(p_queue, p_gate);
  if pg_catalog.jsonb_typeof(p_settings) is distinct from 'object' then
    perform tock.refuse(422, 'settings are an object', 'settings');
  end if;
  for v_option in select o.key, o.value from pg_catalog.jsonb_each(p_settings) o loop
    if v_option.key not in ('gate_limit', 'gate_rate_limit', 'gate_rate_seconds', 'gate_rate_burst', 'paused')
    then
      perform tock.refuse(422, 'a gate has no option ' || v_option.key, v_option.key,
        'options: gate_limit, gate_rate_limit, gate_rate_seconds, gate_rate_burst, paused');
    elsif v_option.key = 'paused' or v_option.value <> 'null' then
      v_settings := v_settings
        || tock.check_policy(pg_catalog.jsonb_build_object(v_option.key, v_option.value));
    else
      v_settings := v_settings || pg_catalog.jsonb_build_object(v_option.key, null);
    end if;
  end loop;
  -- whoever else would make it goes on without, as long as this lock is held
  perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(), tock.gate_key(p_queue, p_gate));
  insert into tock.gates (queue, gate) values (p_queue, p_gate) on conflict do nothing;
  update tock.gates g
  set (gate_limit, gate_rate_limit, gate_rate_seconds, gate_rate_burst, paused)
    = (n.gate_limit, n.gate_rate_limit, n.gate_rate_seconds, n.gate_rate_burst, n.paused)
  from tock.gates o cross join lateral pg_catalog.jsonb_populate_record(o, v_settings) n
  where g.queue = p_queue and g.gate = p_gate and o.queue = p_queue and o.gate = p_gate
  returning g.* into v_row;
  perform tock.turn_gates(array[v_row]);
  perform tock.act('put_gate', p_queue, p_settings || pg_catalog.jsonb_build_object('gate', p_gate));
  return v_row;
end $$;

comment on function tock.put_gate is
  'Sets gate_limit, gate_rate_limit, gate_rate_seconds, gate_rate_burst and paused of a gate, those that are '
  'named; null goes by the queue''s setting again. Lets in whoever there is room for then.';

create or replace function tock.reset_gate(p_queue text, p_gate text)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set lock_timeout = '2s'
as $$
declare
  v_row tock.gates;
begin
  perform tock.check_gate(p_queue, p_gate);
  update tock.gates g set gate_limit = null, gate_rate_limit = null, gate_rate_seconds = null,
    gate_rate_burst = null, paused = false
  where g.queue = p_queue and g.gate = p_gate returning g.* into v_row;
  if not found then
    return false;
  end if;
  -- a full bucket, and no alarm: whoever it was stands in the line again
  update tock.waiting w set due_at = 'infinity'
  where w.position = (
      select t.alarm from tock.turns t where t.queue = p_queue and t.gate = p_gate
      order by t.queue desc, t.gate desc, t.number desc limit 1)
    -- put off meanwhile, it comes at its time
    and w.gate = p_gate and w.queue = p_queue and w.ticket is not null and w.due_at < 'infinity';
  insert into tock.turns (number, last_ticket, queue, gate, inside)
  select t.number + 1, t.last_ticket, t.queue, t.gate, t.inside
  from tock.turns t where t.queue = p_queue and t.gate = p_gate
  order by t.queue desc, t.gate desc, t.number desc limit 1;
  perform tock.turn_gates(array[v_row], true);
  perform tock.act('reset_gate', p_queue, pg_catalog.jsonb_build_object('gate', p_gate));
  return true;
end $$;

comment on function tock.reset_gate is
  'Has a gate go by its queue''s settings again, not paused and its bucket full, and looks anew who may come '
  'in; false when there is no such gate.';
