-- With the stream's lock held, which is what makes the claim the judge: whoever asks whether a run had
-- started takes the same lock. Marked runs at the cursor are passed by a closed lease, 10,000 a claim; those
-- further on are left to the draw, up to 1,000, whose lease says which they were.
create or replace function tock.pass_marked(p_epoch integer, p_stream integer, p_after bigint)
returns tock.passed
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_before integer := coalesce(substring(pg_catalog.current_setting('tock.claim', true) from '^passed (\d+)$')::integer, 0);
  v_budget integer := 10000 - v_before;
  v_mark record;
  v_read integer := 0;
  v_judged integer := 0;
  v_verdict text;
  v_skips bigint[] := '{}';
  v_later bigint[] := '{}';
  v_open bigint;
  v_leading bigint[];
  v_passed tock.passed;
begin
  v_passed.after_position := p_after;
  v_passed.upto := 9223372036854775807;
  for v_mark in execute pg_catalog.format($q$
    select m.position, bool_or(m.kind in ('cancelled', 'superseded')) as off, max(m.other_id) filter (where m.kind = 'replaces') as replaces
    from tock.marks_%s m where m.stream = $1 and m.position > $2 and m.kind <> 'amended'
    group by m.stream, m.position order by m.stream, m.position limit $3$q$, p_epoch)
    using p_stream, p_after, greatest(v_budget, 1)
  loop
    v_read := v_read + 1;
    v_judged := v_judged + case when v_mark.off then 0 else 1 end;
    if v_read >= v_budget or v_judged > 500 then
      -- not looked at: the draw ends before it
      v_passed.upto := v_mark.position - 1;
      exit;
    end if;
    v_verdict := case when v_mark.off then 'late' else tock.judge(v_mark.replaces) end;
    if v_verdict = 'late' then
      v_skips := v_skips || v_mark.position;
    elsif v_verdict = 'later' then
      v_later := v_later || v_mark.position;
    end if;
  end loop;

  execute pg_catalog.format('select r.position from tock.runs_%s r where r.stream = $1 and r.position > $2
    and r.position <> all ($3) order by r.stream, r.position limit 1', p_epoch)
    into v_open using p_stream, p_after, v_skips || v_later;
  v_leading := array(select p from unnest(v_skips || v_later) p where p < v_open or v_open is null order by p);
  if pg_catalog.cardinality(v_leading) > 0 then
    v_passed.after_position := v_leading[pg_catalog.cardinality(v_leading)];
    perform tock.skip_to(p_stream, p_after, v_passed.after_position, pg_catalog.cardinality(v_leading));
    perform tock.postpone(p_epoch, p_stream, array(select p from unnest(v_later) p where p <= v_passed.after_position));
  end if;
  perform pg_catalog.set_config('tock.claim', 'passed ' || case when v_passed.upto < 9223372036854775807 then 10000
    else v_before + pg_catalog.cardinality(v_leading) end, true);
  v_passed.skips := array(select p from unnest(v_skips) p where p > v_passed.after_position order by p limit 1000);
  v_passed.upto := least(v_passed.upto,
    (select min(p) - 1 from unnest(v_later) p where p > v_passed.after_position),
    (select max(p) from unnest(v_passed.skips) p having count(*) = 1000));
  return v_passed;
end $$;

comment on function tock.pass_marked is
  'Passes over the marked runs at a stream''s cursor; says where the cursor is then, which later runs are to be skipped, and how far it has looked.';

-- Whether what replaces this run may start. With the lock of the run's stream held its fate is known:
-- leased, it had started; skipped, or still unread (then every claim to come sees its mark), it never will.
create or replace function tock.judge(p_replaced bigint)
returns text
language plpgsql
volatile
as $$
declare
  v_stream integer := (p_replaced & 1048575)::integer;
  v_position bigint := p_replaced >> 20;
  v_epoch integer := tock.epoch_of(v_position);
  v_at record;
begin
  if v_epoch is null then
    return 'go';  -- that long ago it can only have been passed: retain() has seen to it
  end if;
  if not tock.take_stream(v_stream) then
    return 'later';
  end if;
  execute pg_catalog.format($q$
    select l.last_position >= $2 and l.runs > 0 and $2 <> all (coalesce(l.skips, '{}')) as started,
      exists (select from tock.marks_%1$s m where m.stream = $1 and m.position = $2 and m.kind = 'cancelled') as cancelled,
      (select m.other_id from tock.marks_%1$s m where m.stream = $1 and m.position = $2 and m.kind = 'replaces') as replaces
    from (select) one
    left join lateral (
      select c.last_position, c.runs, c.skips from tock.leases_%1$s c where c.stream = $1 and c.after_position < $2
      order by c.stream desc, c.after_position desc limit 1) l on true$q$, v_epoch)
    into v_at using v_stream, v_position;
  return case
    when v_at.started or v_at.cancelled then 'late'
    when v_at.replaces is not null then tock.judge(v_at.replaces)
    else 'go' end;
end $$;

comment on function tock.judge is
  'Whether the replacement of a run may start: go, late (the run had started, or was cancelled), or later (its stream is being claimed from).';

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
        (select m.other_id from tock.marks_%1$s m
         where m.stream = r.stream and m.position = r.position and m.kind = 'replaces') as replaces
      from tock.runs_%1$s r join tock.streams s on s.number = r.stream
      where r.stream = $1 and r.position = any ($2)
    ), ended as (
      insert into tock.results_%1$s (stream, position, state, next_id)
      select p.stream, p.position, 'superseded', p.waiting_position << 20 from put_off p
    )
    insert into tock.waiting (position, task_id, due_at, queue, priority, lane, attempt, lost, max_attempts, tenant,
      created_at, bytes, payload, replaces)
    select p.waiting_position, coalesce(p.task_id, p.position << 20 | p.stream),
      pg_catalog.clock_timestamp() + interval '1 second', p.queue, p.priority, p.lane, p.attempt, p.lost, p.max_attempts,
      p.tenant, p.created_at, p.bytes, p.payload, p.replaces
    from put_off p$q$, p_epoch) using p_stream, p_positions;
end $$;

comment on function tock.postpone is 'Puts replacements that can''t be judged now off for a second, so that nobody behind them waits.';
