create or replace function tock.key_policy(p_task jsonb)
returns text
language sql
immutable
as $$
  select coalesce(p_task ->> 'unique_policy',
    case when coalesce(p_task ->> 'on_conflict', 'keep') = 'keep' then 'unfinished' else 'pending' end)
$$;

comment on function tock.key_policy is 'How long a task with this key counts for what comes: pending, unfinished or period.';

create or replace function tock.counts(p_task jsonb, p_state text, p_created_at timestamptz, p_now timestamptz)
returns boolean
language sql
immutable
as $$
  select coalesce(p_state in ('waiting', 'ready')
    or (tock.key_policy(p_task) in ('unfinished', 'period') and p_state = 'running')
    or (tock.key_policy(p_task) = 'period' and coalesce(p_state, '') not in ('cancelled', 'expired') and p_created_at
      + pg_catalog.round((p_task ->> 'unique_seconds')::numeric, 6)::float8 * interval '1 second' > p_now), false)
$$;

comment on function tock.counts is 'Whether a key''s last task, of which this is known, still counts for the task that comes.';

-- A task holds its key through all stages of its pipeline, and has started once a run of it has led on: to another
-- queue than its key's, or back to that one. What has led on goes by another id than its task's.
create or replace function tock.key_holders(p_queue text, p_ids bigint[])
returns setof tock.whereabout
language plpgsql
volatile
as $$
declare
  v_ats tock.whereabout[] := array(select w from tock.whereabouts(p_ids) w);
  v_led bigint[] := tock.led_on(array(
    select a.current_id from unnest(v_ats) a
    where a.state in ('waiting', 'ready', 'running') and a.queue = p_queue and a.current_id <> a.task_id));
begin
  return query
    select a.n, a.task_id, a.current_id, case when l.later and a.state in ('waiting', 'ready') then 'running' else a.state end,
      case when not l.later then a.queue end
    from unnest(v_ats) a
    cross join lateral (select a.queue <> p_queue or a.current_id = any (v_led) as later) l;
end $$;

comment on function tock.key_holders is 'whereabouts() as a key''s queue sees them: what has gone on to another stage is running, its queue null.';

create or replace function tock.led_on(p_ids bigint[])
returns bigint[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_led bigint[];
  v_runs bigint[];
  v_part bigint[];
  v_epoch integer;
begin
  if p_ids = '{}' then
    return p_ids;
  end if;
  v_led := array(
    select w.position << 20 from tock.waiting w
    where w.position = any (array(select i >> 20 from unnest(p_ids) i where i & 1048575 = 0))
      and w.options #> '{stage,after}' is not null);
  -- in this order, as an entry may be promoted in between
  v_runs := array(
    select case when i & 1048575 <> 0 then i else (select p.run_id from tock.promotions p where p.position = i >> 20) end
    from unnest(p_ids) with ordinality i (i, n) order by i.n);
  for v_epoch in select distinct tock.epoch_of(i >> 20) from unnest(v_runs) i loop
    continue when v_epoch is null;
    execute pg_catalog.format($q$
      select array(
        select i.id from unnest($1, $2) i (id, run_id)
        cross join lateral (
          select from tock.runs_%s r
          where r.stream = (i.run_id & 1048575)::integer and r.position = i.run_id >> 20 and r.options #> '{stage,after}' is not null
          offset 0) r)$q$, v_epoch) into v_part using p_ids, v_runs;
    v_led := v_led || v_part;
  end loop;
  return v_led;
end $$;

comment on function tock.led_on is 'Those of some runs and waiting entries that an earlier run of their task led on to: in a stage, or after what it spawned.';

create or replace function tock.options_at(p_id bigint)
returns jsonb
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_options jsonb;
begin
  if p_id & 1048575 = 0 then
    return (select w.options from tock.waiting w where w.position = p_id >> 20);
  elsif tock.epoch_of(p_id >> 20) is not null then
    execute pg_catalog.format('select r.options from tock.runs_%s r where r.stream = $1 and r.position = $2', tock.epoch_of(p_id >> 20))
      into v_options using (p_id & 1048575)::integer, p_id >> 20;
  end if;
  return v_options;
end $$;

comment on function tock.options_at is 'The options of a run or waiting entry.';

create or replace function tock.key_changes(p_key tock.unique_keys, p_task jsonb)
returns jsonb
language plpgsql
volatile
as $$
declare
  v_changes jsonb := pg_catalog.jsonb_build_object('payload', p_task -> 'payload')
    || case when p_task ->> 'priority' is not null then pg_catalog.jsonb_build_object('priority', p_task -> 'priority') else '{}' end;
  v_before jsonb;
  v_due timestamptz := coalesce((p_task ->> 'run_at')::timestamptz,
    pg_catalog.clock_timestamp() + interval '1 second' * pg_catalog.round((p_task ->> 'delay_seconds')::numeric, 6)::float8);
begin
  if p_task ->> 'on_conflict' = 'merge' then
    v_before := tock.payload_of(p_key.task_id);
    if pg_catalog.jsonb_typeof(v_before) = 'array' and pg_catalog.jsonb_typeof(p_task -> 'payload') = 'array' then
      v_changes := pg_catalog.jsonb_set(v_changes, '{payload}', v_before || (p_task -> 'payload'));
    end if;
  elsif p_task ->> 'on_conflict' = 'debounce' then
    v_changes := v_changes || pg_catalog.jsonb_build_object('run_at', least(coalesce(v_due, pg_catalog.clock_timestamp()),
      p_key.created_at + interval '1 second' * pg_catalog.round((p_task ->> 'debounce_max_seconds')::numeric, 6)::float8));
  elsif p_task ->> 'on_conflict' = 'replace' and v_due is not null then
    v_changes := v_changes || pg_catalog.jsonb_build_object('run_at', v_due);
  end if;
  return v_changes;
end $$;

comment on function tock.key_changes is 'What a task brings for the one that has its key.';

-- Where the key counts until the start, only a waiting one is changed, with its row locked, so that it can't start
-- before this commits: of one that is ready a claim could take the old payload, and the change would come too late
-- to be seen. The same goes for what waits in the place of a run that may have started.
create or replace function tock.change_held(p_key tock.unique_keys, p_at tock.whereabout, p_task jsonb)
returns boolean
language plpgsql
volatile
set lock_timeout = '2s'
as $$
declare
  v_policy text := tock.key_policy(p_task);
  v_alone boolean;
  v_changed record;
begin
  -- in a later stage it has that one's payload
  if p_at.queue is null then
    return tock.counts(p_task, p_at.state, p_key.created_at, pg_catalog.clock_timestamp());
  elsif v_policy = 'pending' then
    if p_at.state = 'waiting' then
      select w.replaces is null into v_alone from tock.waiting w where w.position = p_at.current_id >> 20 for update;
    end if;
    if v_alone is not true then
      return false;
    end if;
  end if;
  select c.state, c.changed into v_changed from tock.change(array[p_key.task_id], tock.key_changes(p_key, p_task)) c;
  return case
    when v_changed.state in ('waiting', 'ready') then v_changed.changed
    when v_changed.state = 'running' then v_policy <> 'pending'
    else v_policy = 'period' end;
end $$;

comment on function tock.change_held is 'Gives the task that has a unique key what the new one brings; whether it stands for that one.';

-- What replaces a ready task stands at the end of the queue, so a key that is named again and again would never come
-- to run. So after a minute (or the time that it asks for) the ready one is left as it is, and the newer one is another
-- task, with a mark that says which was left: while that one hasn't started, no second is left.
create or replace function tock.gives_way(p_key tock.unique_keys, p_at tock.whereabout, p_task jsonb, p_left bigint)
returns boolean
language plpgsql
volatile
as $$
begin
  -- what its parents gave it would go with it
  if p_at.current_id <> p_at.task_id and tock.options_at(p_at.current_id) ? 'gathered' then
    return false;
  end if;
  return pg_catalog.clock_timestamp() < p_key.created_at + interval '1 second' * pg_catalog.round(least(60,
      (p_task ->> 'unique_seconds')::numeric, (p_task ->> 'debounce_max_seconds')::numeric), 6)::float8
    or exists (select from tock.whereabouts(array[p_left]) w where w.state = 'ready');
end $$;

comment on function tock.gives_way is 'Whether a ready task that has a key is cancelled for a newer one, or is left to run as its key has been named for long.';

create or replace function tock.in_its_place(p_key tock.unique_keys, p_at tock.whereabout, p_task jsonb)
returns jsonb
language plpgsql
volatile
as $$
declare
  v_waits tock.waiting;
begin
  if p_at.state = 'waiting' then
    select w.* into v_waits from tock.waiting w where w.position = p_at.current_id >> 20;
    if not found then
      p_at := (select w from tock.whereabouts(array[p_key.task_id]) w);
    end if;
  end if;
  return p_task - 'delay_seconds' - 'run_at'
    || pg_catalog.jsonb_build_object('priority', coalesce(v_waits.priority,
      (select s.priority from tock.streams s where s.number = (p_at.current_id & 1048575)::integer)))
    || case when v_waits.due_at > pg_catalog.clock_timestamp() and v_waits.due_at < 'infinity' then pg_catalog.jsonb_build_object('run_at', v_waits.due_at) else '{}' end
    || tock.key_changes(p_key, p_task);
end $$;

comment on function tock.in_its_place is 'The task that is appended for one that is cancelled, which has its key.';

create or replace function tock.payload_of(p_id bigint)
returns jsonb
language plpgsql
volatile
as $$
declare
  v_at tock.whereabout;
  v_payload jsonb;
begin
  loop
    v_at := (select w from tock.whereabouts(array[p_id]) w);
    exit when v_at.state is distinct from 'waiting';
    select tock.own_payload(w.payload, w.options) into v_payload from tock.waiting w where w.position = v_at.current_id >> 20;
    if found then
      return v_payload;
    end if;
    -- it was promoted since: it is looked for anew
  end loop;
  if v_at.state = 'running' then
    select tock.changed_payload(w.id) into v_payload from unnest(tock.wishes(array[v_at.task_id, v_at.current_id])) w
    where w.changes ? 'bytes' order by w.id = v_at.task_id desc limit 1;
    if found then
      return v_payload;
    end if;
  end if;
  return (select tock.own_payload(r.payload, r.options) from tock.run_at(v_at.current_id) r);
end $$;

comment on function tock.payload_of is 'A task''s own payload as it is now: of a running one, as its next attempt has it.';
