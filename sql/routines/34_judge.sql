-- Whether what replaces a run may start: a run, or an entry that still waits. With the lock of the replaced
-- one's stream held its fate is known: leased, it had started; skipped, or still unread (then every claim to
-- come sees its mark), it never will. One that was put off goes on as what that entry was promoted to. What
-- it replaced itself is asked in turn. The second key of the lock is taken too, in case a claim was using it
-- beside a stranger's lock.
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
  v_at record;
  v_verdict text;
begin
  while v_replaced is not null loop
    v_stream := (v_replaced & 1048575)::integer;
    v_epoch := tock.epoch_of(v_replaced >> 20);
    exit when v_epoch is null;  -- that long ago it can only have been passed: let_go() has seen to it
    if not (tock.take_stream(v_stream) and pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), -1 - v_stream)) then
      return 'later';
    end if;
    execute pg_catalog.format($q$
      select l.last_position >= $2 as passed, l.last_position >= $2 and l.runs > 0 and $2 <> all (coalesce(l.skips, '{}')) as started,
        e.position is not null as put_off, e.next_id, m.replaces, m.cancelled, m.next_id as changed_to
      from (
        select max(k.other_id) filter (where k.kind = 'replaces') as replaces, bool_or(k.kind = 'cancelled') as cancelled,
          max(k.other_id) filter (where k.kind = 'superseded') as next_id
        from tock.marks_%1$s k where k.stream = $1 and k.position = $2) m
      left join tock.results_%1$s e on e.stream = $1 and e.position = $2
      left join lateral (
        select c.last_position, c.runs, c.skips from tock.leases_%1$s c where c.stream = $1 and c.after_position < $2
        order by c.stream desc, c.after_position desc limit 1) l on true$q$, v_epoch)
      into v_at using v_stream, v_replaced >> 20;
    if v_at.started or (v_at.cancelled and v_at.replaces is not null) then
      return 'late';
    elsif v_at.put_off then
      v_verdict := tock.judge_put_off(v_id, v_at.next_id, v_at.changed_to);
      if v_verdict <> 'go' then
        return v_verdict;
      end if;
    elsif v_at.passed is not true and pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
      perform tock.check_cursor(v_stream);
    end if;
    v_id := v_replaced;
    v_replaced := v_at.replaces;
  end loop;
  return 'go';
end $$;

comment on function tock.judge is
  'Whether the replacement of a run may start: go, late (the run had started, or gone on as another), or later (its stream is being claimed from).';

-- A run may be put off and changed at the same time. As long as the entry waits, the change holds; its
-- promotion decides.
create or replace function tock.judge_put_off(p_id bigint, p_entry bigint, p_changed_to bigint)
returns text
language plpgsql
volatile
as $$
declare
  v_next bigint := p_entry;
  v_run bigint;
begin
  if p_id = p_entry and p_changed_to > 0 then
    return 'late';
  end if;
  while v_next <> p_id loop
    v_run := case when v_next & 1048575 = 0 then (select p.run_id from tock.promotions p where p.position = v_next >> 20) end;
    if v_run is null then
      return case when exists (select from tock.waiting w where w.position = v_next >> 20 and v_next & 1048575 = 0)
        then 'later' else 'late' end;
    end if;
    v_next := v_run;
  end loop;
  return 'go';
end $$;

comment on function tock.judge_put_off is 'Whether a run or waiting entry is what a run that was put off goes on as: go, late, or later when that is not decided.';

-- By a second; where the other stream's claim stays open, each time by half as long again, up to a minute.
create or replace function tock.postpone(p_epoch integer, p_stream integer, p_positions bigint[])
returns void
language plpgsql
volatile
as $$
begin
  if pg_catalog.cardinality(p_positions) = 0 then
    return;
  end if;
  execute pg_catalog.format($q$
    with put_off as (
      select pg_catalog.nextval('tock.positions') as waiting_position, r.*, s.queue, s.priority, s.lane,
        least(greatest(1.5 * (pg_catalog.clock_timestamp() - (
          select e.ended_at from tock.results e
          where e.stream = (k.other_id & 1048575)::integer and e.position = k.other_id >> 20)),
          interval '1 second'), interval '1 minute') as delay
      from tock.runs_%1$s r
      join tock.streams s on s.number = r.stream
      join tock.marks_%1$s k on k.stream = r.stream and k.position = r.position and k.kind = 'replaces'
      where r.stream = $1 and r.position = any ($2)
    ), ended as (
      insert into tock.results_%1$s (stream, position, state, next_id)
      select p.stream, p.position, 'superseded', p.waiting_position << 20 from put_off p
    )
    insert into tock.waiting (position, task_id, due_at, queue, priority, lane, attempt, lost, max_attempts, tenant,
      created_at, bytes, payload, replaces)
    select p.waiting_position, coalesce(p.task_id, p.position << 20 | p.stream),
      pg_catalog.clock_timestamp() + p.delay, p.queue, p.priority, p.lane, p.attempt, p.lost, p.max_attempts,
      p.tenant, p.created_at, p.bytes, p.payload, p.position << 20 | p.stream
    from put_off p$q$, p_epoch) using p_stream, p_positions;
end $$;

comment on function tock.postpone is 'Puts replacements that can''t be judged now off for a second or more, so that nobody behind them waits.';

create or replace function tock.drop_changed(p_due bigint[])
returns bigint[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_epoch integer;
  v_dropped bigint[];
  v_due bigint[] := p_due;
begin
  for v_epoch in
    select distinct tock.epoch_of(w.replaces >> 20) from tock.waiting w where w.position = any (p_due) and w.replaces is not null
  loop
    continue when v_epoch is null;
    execute pg_catalog.format($q$
      with changed as materialized (
        select w.position, m.other_id from tock.waiting w
        cross join lateral (
          select m.other_id from tock.marks_%1$s m
          where m.stream = (w.replaces & 1048575)::integer and m.position = w.replaces >> 20 and m.kind = 'superseded'
            and m.other_id > 0 and m.other_id <> w.position << 20 offset 0) m
        where w.position = any ($1) and w.replaces is not null
      ), dropped as (
        delete from tock.waiting w using changed c where w.position = c.position
      ), noted as (
        insert into tock.promotions (position, run_id, due_at)
        select c.position, c.other_id, '-infinity' from changed c on conflict do nothing
      )
      select array(select c.position from changed c)$q$, v_epoch) into v_dropped using v_due;
    v_due := array(select d from unnest(v_due) d where d <> all (v_dropped));
  end loop;
  return v_due;
end $$;

comment on function tock.drop_changed is 'Takes entries out of waiting whose run was changed at the moment it was put off: they go on as what that made. Returns the others.';
