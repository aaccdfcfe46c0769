-- What has a key, or stands at a gate or is inside: by their own lists.
create or replace function tock.search_by_key(p_filter jsonb, p_limit integer)
returns jsonb
language plpgsql
volatile
as $$
declare
  v_queue text := p_filter ->> 'queue';
  v_ids bigint[] := array(
    select k.task_id from tock.unique_keys k
    where k.queue = v_queue and k.unique_key = p_filter ->> 'unique_key' order by k.number desc limit 1);
begin
  if p_filter ->> 'gate' is not null then
    v_ids := v_ids || array(
      select i from tock.gates(v_queue, p_filter ->> 'gate') g, unnest(g.inside) i limit p_limit);
    v_ids := v_ids || array(
      select coalesce(w.task_id, w.position << 20) from tock.waiting w
      where w.queue = v_queue and w.gate = p_filter ->> 'gate' and w.ticket is not null
      order by w.queue, w.gate, w.ticket limit p_limit);
  end if;
  return (
    select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', t.id::text, 'run_id', coalesce(t.runs -> -1 ->> 'id', t.id::text),
      'queue', t.queue, 'state', t.state, 'priority', t.priority, 'tenant', t.tenant, 'attempt', t.attempt, 'created_at', t.created_at,
      'run_at', t.run_at, 'ended_at', t.ended_at, 'worker', t.runs -> -1 ->> 'worker', 'error', tock.error_text(t.error)) order by u.n), '[]')
    from (select i, min(n) as n from unnest(v_ids) with ordinality v (i, n) group by i order by 2 limit p_limit) u
    cross join lateral tock.task(u.i) t
    where coalesce(t.state = p_filter ->> 'state', true) and coalesce(t.tenant = p_filter ->> 'tenant', p_filter ->> 'tenant' is null)
      and coalesce(t.runs -> -1 ->> 'worker' = p_filter ->> 'worker', p_filter ->> 'worker' is null)
      and (p_filter ->> 'error' is null or t.state = 'dead' and coalesce(tock.error_text(t.error) = p_filter ->> 'error', false))
      and coalesce(t.created_at >= (p_filter ->> 'from')::timestamptz, true)
      and coalesce(t.created_at < (p_filter ->> 'to')::timestamptz, true));
end $$;

comment on function tock.search_by_key is 'The task that had a unique key last, or those at a gate, first who is inside, then the line.';

create or replace function tock.search_time(p_filter jsonb, p_name text)
returns timestamptz
language plpgsql
stable
as $$
begin
  return (p_filter ->> p_name)::timestamptz;
exception
  when data_exception then
    perform tock.refuse(422, p_name || ' is an instant', p_name, 'such as 2026-11-21T09:00:00Z');
end $$;

comment on function tock.search_time is 'An instant of a filter; TK422 when it is none.';

create or replace function tock.search_below(p_cursor text)
returns bigint
language plpgsql
stable
as $$
declare
  v_below bigint := 9223372036854775807;
begin
  if p_cursor ~ '^[0-9a-f]{1,15}$' then
    v_below := ('x' || pg_catalog.lpad(p_cursor, 16, '0'))::bit(64)::bigint;
  elsif p_cursor is not null then
    perform tock.refuse(422, 'the cursor is not one of this list', 'cursor', 'send the one that the call before gave, with the same filter');
  end if;
  return v_below;
end $$;

comment on function tock.search_below is 'Below which position a search goes on; TK422 for what is no cursor.';

-- Streams of one queue, or of all those that were in use since an epoch began: at most 2,000, the latest first.
create or replace function tock.searched_streams(p_queue text, p_first bigint)
returns integer[]
language plpgsql
volatile
as $$
begin
  if p_queue is not null then
    return array(select s.number from tock.streams s where s.queue = p_queue order by s.awake desc, s.start_after desc limit 2000);
  end if;
  return array(
    select s.number from tock.streams s where s.awake or s.start_after >= p_first - 1
    order by s.awake desc, s.start_after desc limit 2000);
end $$;

comment on function tock.searched_streams is 'In which streams a search looks.';

-- The newest epoch below; what lies in a later one has been seen. What is settled is known to hold nothing unfinished, and
-- whose dead; what is audited, whose runs.
create or replace function tock.searched_epoch(p_filter jsonb, p_below bigint)
returns tock.epochs
language sql
volatile
as $$
  select e.* from tock.epochs e
  where e.first_position < p_below and e.first_position <= (select p.last_value from tock.positions p)
    and coalesce(p_filter ->> 'state' <> 'waiting', true)
    and (e.settled_at is null or coalesce(p_filter ->> 'state' not in ('ready', 'running'), true)
      and coalesce(p_filter ->> 'state' <> 'dead' or e.dead ? (p_filter ->> 'queue'), true)
      and (e.audited_at is null or coalesce(p_filter ->> 'queue' = any (e.queues), true)))
  order by e.first_position desc limit 1
$$;

comment on function tock.searched_epoch is 'In which epoch a search goes on; null when none is left.';
