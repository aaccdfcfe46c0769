-- Whether what replaces a run may start. A lease that covers the replaced one tells its fate: handed out,
-- it had started; passed over, it never will. Still unread, it may be in the hands of a claim that hasn't
-- committed: with the lock of its stream held it is not, and every claim to come sees its mark. (The second
-- key of the lock is for a claim that goes on beside a stranger's.) What it replaced itself is asked in turn.
-- Where the replaced one's epoch is gone, what was too late has a mark since, which the caller may not have seen.
create or replace function tock.judge(p_id bigint, p_replaced bigint)
returns text
language plpgsql
volatile
as $$
declare
  v_id bigint := p_id;
  v_replaced bigint := p_replaced;
  v_stream integer;
  v_epoch integer;
  v_locked boolean;
  v_at record;
begin
  while v_replaced is not null loop
    v_stream := (v_replaced & 1048575)::integer;
    v_epoch := tock.epoch_of(v_replaced >> 20);
    if v_epoch is null then
      return case when tock.is_cancelled(v_id) then 'late' else 'go' end;
    end if;
    v_locked := false;
    loop
      execute pg_catalog.format($q$
        select coalesce(l.last_position >= $2, false) as passed,
          l.last_position >= $2 and l.runs > 0 and $2 <> all (coalesce(l.skips, '{}')) as started,
          m.replaces, m.cancelled
        from (
          select max(k.other_id) filter (where k.kind = 'replaces') as replaces, bool_or(k.kind = 'cancelled') as cancelled
          from tock.marks_%1$s k where k.stream = $1 and k.position = $2) m
        left join lateral (
          select c.last_position, c.runs, c.skips from tock.leases_%1$s c where c.stream = $1 and c.after_position < $2
          order by c.stream desc, c.after_position desc limit 1) l on true$q$, v_epoch)
        into v_at using v_stream, v_replaced >> 20;
      exit when v_at.passed or v_locked;
      if not (tock.take_stream(v_stream) and pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), -1 - v_stream)) then
        return 'later';
      end if;
      v_locked := true;
    end loop;
    if v_at.started or (v_at.cancelled and v_at.replaces is not null) then
      return 'late';
    elsif not v_at.passed and pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
      perform tock.check_cursor(v_stream);
    end if;
    v_id := v_replaced;
    v_replaced := v_at.replaces;
  end loop;
  return 'go';
end $$;

comment on function tock.judge is
  'Whether the replacement of a run may start: go, late (the run had started), or later (its stream is being claimed from).';

-- A put-off run is superseded by a waiting entry, as by a change, with the same key: of this and a change at
-- the same time one holds. By a tenth of a second; where the other stream's claim stays open, each time by
-- half as long again, up to a minute. Nothing is put off, and false returned, while one of them is being changed.
create or replace function tock.postpone(p_epoch integer, p_stream integer, p_positions bigint[])
returns boolean
language plpgsql
volatile
set lock_timeout = '50ms'
as $$
begin
  if pg_catalog.cardinality(p_positions) = 0 then
    return true;
  end if;
  perform tock.check_waiting_ids();
  execute pg_catalog.format($q$
    with placed as materialized (
      select pg_catalog.nextval('tock.positions') as waiting_position, r.*, s.queue, s.priority, s.lane,
        least(coalesce(1.5 * (b.changes ->> 'seconds')::float8, 0.1), 60) as seconds
      from tock.runs_%1$s r
      join tock.streams s on s.number = r.stream
      join tock.marks_%1$s k on k.stream = r.stream and k.position = r.position and k.kind = 'replaces'
      left join tock.marks_%1$s b
        on b.stream = (k.other_id & 1048575)::integer and b.position = k.other_id >> 20 and b.kind = 'superseded'
      where r.stream = $1 and r.position = any ($2)
    ), put_off as (
      insert into tock.marks_%1$s (stream, position, kind, other_id, changes)
      select p.stream, p.position, 'superseded', p.waiting_position << 20, pg_catalog.jsonb_build_object('seconds', p.seconds)
      from placed p order by p.position
      on conflict do nothing
      returning stream, position
    )
    insert into tock.waiting (position, task_id, due_at, queue, priority, lane, attempt, lost, max_attempts, tenant,
      created_at, bytes, payload, replaces, options, gate)
    select p.waiting_position, p.task_id, pg_catalog.clock_timestamp() + p.seconds * interval '1 second', p.queue,
      p.priority, p.lane, p.attempt, p.lost, p.max_attempts, p.tenant, p.created_at, p.bytes, p.payload,
      p.position << 20 | p.stream, p.options, p.options ->> 'gate'
    from placed p join put_off o using (stream, position)$q$, p_epoch) using p_stream, p_positions;
  return true;
exception
  when lock_not_available then return false;
end $$;

comment on function tock.postpone is
  'Puts replacements that can''t be judged now off for a moment or more, so that nobody behind them waits; false when that can''t be either.';
