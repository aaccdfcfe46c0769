-- Purges up to p_limit unclaimed runs of a stream; returns how many it skipped, and how many of these had not
-- been cancelled or replaced before. Null if another session is claiming from the stream. While the function
-- holds the claim lock of the stream, no claim leases from it. purge_range() covers the unclaimed runs with
-- one lease in each segment.
create or replace function tock.purge_stream(
  p_stream integer, p_limit bigint, out passed bigint, out purged bigint)
language plpgsql volatile as $$
declare
  v_at tock.stream_cursor;
  v_passed bigint;
  v_purged bigint;
  -- without this limit, the loop might never end beside a busy writer
  v_upto bigint := (select s.last_value from tock.positions s);
begin
  if not tock.take_stream(p_stream) then
    return;
  end if;
  passed := 0;
  purged := 0;
  while passed < p_limit loop
    v_at := tock.resolve_cursor(p_stream, false);
    exit when v_at.segment is null or v_at.after_position >= v_upto;
    execute pg_catalog.format('select p.* from tock.purge_range_%s($1, $2, $3, $4) p', v_at.segment)
      into v_passed, v_purged
      using p_stream, v_at.after_position, p_limit - passed, tock.new_token(0, v_at.after_position);
    exit when v_passed is null;
    passed := passed + v_passed;
    purged := purged + v_purged;
    perform tock.notify_dependents_of_skipped(p_stream, v_at.after_position, tock.cursor_of(p_stream));
  end loop;
end $$;

-- Admits tasks at the concurrency keys of a queue that have waiters. A purged run no longer holds its
-- concurrency key. The function checks up to 1,000 keys; the sweep finds the others.
create or replace function tock.admit_in_queue(p_queue text)
returns void language plpgsql volatile as $$
declare
  v_concurrency_keys text[] := array(
    with recursive standing as (
      (select w.concurrency_key from tock.waiting w where w.lost >= 0 and w.queue = p_queue and w.ticket > 0
       order by w.queue, w.concurrency_key limit 1)
      union all
      select n.concurrency_key from standing s
      cross join lateral (
        select w.concurrency_key from tock.waiting w
        where w.lost >= 0 and w.queue = p_queue and w.ticket > 0 and w.concurrency_key > s.concurrency_key
        order by w.queue, w.concurrency_key limit 1) n)
    select t.concurrency_key from standing t limit 1000);
begin
  perform tock.admit_at_keys(
    pg_catalog.array_fill(p_queue, array[pg_catalog.cardinality(v_concurrency_keys)]), v_concurrency_keys);
end $$;

-- Tasks enqueued meanwhile need no further call: "more" counts only what was there when this call began.
create or replace function tock.purge_queue(
  p_queue text, p_state text default null, p_limit integer default 1000000)
returns table (ready bigint, waiting integer, busy integer, more boolean) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s' as $$
#variable_conflict use_column
declare
  v_stream integer;
  v_part record;
  v_waiting bigint[];
  v_streams integer := 0;
  v_passed bigint := 0;
  v_upto bigint := (select s.last_value from tock.positions s);
begin
  perform tock.check_queue(p_queue);
  if p_state not in ('ready', 'waiting') then
    perform tock.refuse(422, 'state must be ready or waiting, or left out for both', 'state');
  end if;
  perform tock.check_range(p_limit, 1, 10000000, 'limit');
  perform tock.check_read_committed('purge_queue');
  ready := 0; waiting := 0; busy := 0; more := false;
  -- waiting tasks first: they become cancelled runs, which are then skipped with the others
  if coalesce(p_state, 'waiting') = 'waiting' then
    v_waiting := array(
      select w.position from tock.waiting w where w.lost >= 0 and w.queue = p_queue
      order by w.queue, w.due_at, w.position limit least(p_limit, 10000) for update skip locked);
    waiting := pg_catalog.cardinality(v_waiting);
    if waiting > 0 then
      perform tock.make_ready(v_waiting, true);
    end if;
    more := (
      select w.position from tock.waiting w where w.lost >= 0 and w.queue = p_queue and w.position <= v_upto
      order by w.queue, w.due_at, w.position limit 1) is not null;
  end if;
  if coalesce(p_state, 'ready') = 'ready' then
    -- includes the cancelled runs of this call
    v_upto := (select s.last_value from tock.positions s);
    for v_stream in
      select s.number from (
        select t.number, t.priority from tock.streams t where t.queue = p_queue and t.awake
        order by t.priority, t.number
        offset 0) s
      where tock.first_unread(s.number, tock.cursor_of(s.number)) <= v_upto
    loop
      v_streams := v_streams + 1;
      if v_passed >= p_limit or v_streams > 1000 then
        more := true;
        exit;
      end if;
      select p.* into v_part from tock.purge_stream(v_stream, p_limit - v_passed) p;
      if v_part.passed is null then
        busy := busy + 1;
      else
        v_passed := v_passed + v_part.passed;
        ready := ready + v_part.purged;
      end if;
      more := more or coalesce(tock.first_unread(v_stream, tock.cursor_of(v_stream)) <= v_upto, false);
    end loop;
    if v_passed > 0 then
      perform tock.admit_in_queue(p_queue);
    end if;
  end if;
  perform tock.write_audit_log('purge_queue', p_queue,
    pg_catalog.jsonb_build_object('state', p_state, 'ready', ready, 'waiting', waiting, 'more', more));
  return next;
end $$;

comment on function tock.purge_queue is
  'Cancels the ready and waiting tasks of a queue, or one of the two: up to p_limit ready runs with one row '
  'per stream, and 10,000 waiting tasks. Returns how many, how many streams other sessions were claiming '
  'from (call again), and whether more of what was there at the start is left. Claims skip those streams '
  'until the transaction ends.';
