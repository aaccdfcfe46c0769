-- The queues are in random order, so that no queue is always last.
create or replace function tock.push_queues(p_queue text default null, p_limit integer default 20)
returns table (queue text, push jsonb, generation integer, previous_until timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_queue record;
  v_count integer := 0;
begin
  for v_queue in
    select q.*, (
        select w.due_at from tock.waiting w
        where w.lost >= 0 and w.queue = q.name
          and w.due_at between pg_catalog.now() - interval '1 day' and pg_catalog.now()
        order by w.queue, w.due_at limit 1) is not null as due
    from tock.queues q
    where q.push is not null and not q.paused and (p_queue is null or q.name = p_queue)
      -- Claims look at nothing else, and few of thousands of queues have an awake stream or a due task. This
      -- is not an exists: for that, PostgreSQL might hash all of tock.waiting.
      and (q.name = p_queue
        or (select s.number from tock.streams s where s.queue = q.name and s.awake limit 1) is not null
        or (select w.due_at from tock.waiting w
          where w.lost >= 0 and w.queue = q.name
            and w.due_at between pg_catalog.now() - interval '1 day' and pg_catalog.now()
          order by w.queue, w.due_at limit 1) is not null)
    order by pg_catalog.random() limit 1000
  loop
    continue when p_queue is null and not v_queue.due and tock.unread_stream(v_queue.name) is null;
    queue := v_queue.name; push := v_queue.push; generation := v_queue.push_generation;
    previous_until := v_queue.push_previous_until;
    return next;
    v_count := v_count + 1;
    exit when v_count = p_limit;
  end loop;
end $$;

comment on function tock.push_queues is
  'The queues with push, or the named one, that may have tasks to send, and the generation of the secret '
  'that signs for each; until previous_until the previous generation too.';

create or replace function tock.has_push(p_queue text)
returns boolean language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
begin
  return coalesce((select q.push is not null from tock.queues q where q.name = p_queue), false);
end $$;

comment on function tock.has_push is 'True if the tasks of a queue are sent to an endpoint.';

create or replace function tock.push_secret(p_queue text)
returns table (queue text, generation integer, previous_until timestamptz) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  return query
    select q.name, q.push_generation,
      case when q.push_previous_until > pg_catalog.clock_timestamp() then q.push_previous_until end
    from tock.queues q where q.name = p_queue and q.name <> '*';
end $$;

comment on function tock.push_secret is
  'The generation of the secret of a queue, and until when the previous one also signs; no row if there is '
  'no such queue.';

-- During the overlap the call does nothing: with a third secret, receivers that know only the first one would
-- fail.
create or replace function tock.rotate_push_secret(p_queue text, p_overlap_seconds integer default 86400)
returns table (queue text, generation integer, previous_until timestamptz) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s' as $$
#variable_conflict use_column
begin
  perform tock.check_range(p_overlap_seconds, 0, 2678400, 'overlap_seconds');
  update tock.queues q set push_generation = q.push_generation + 1,
    push_previous_until = case when p_overlap_seconds > 0
      then pg_catalog.clock_timestamp() + p_overlap_seconds * interval '1 second' end
  where q.name = p_queue and q.name <> '*'
    and (p_overlap_seconds = 0 or coalesce(q.push_previous_until, '-infinity')
      <= pg_catalog.clock_timestamp());
  if found then
    perform tock.write_audit_log('rotate_push_secret', p_queue,
      pg_catalog.jsonb_build_object('overlap_seconds', p_overlap_seconds));
  end if;
  return query select s.queue, s.generation, s.previous_until from tock.push_secret(p_queue) s;
end $$;

comment on function tock.rotate_push_secret is
  'Makes the next generation of the secret of a queue sign, and for the overlap the previous one too. '
  'During the overlap it does nothing, unless p_overlap_seconds is 0: the previous generation then stops at '
  'once.';
