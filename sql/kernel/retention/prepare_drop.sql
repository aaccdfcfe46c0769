-- Step by step: a call does one of these where there is anything left of it to do.
create or replace function tock.let_go(p_epoch integer, p_limit integer default 100000)
returns integer
language plpgsql
volatile
as $$
declare
  v_done integer := tock.send_on(p_epoch, p_limit);
begin
  return case when v_done = 0 then tock.forget_promotions(p_epoch, p_limit) else v_done end;
end $$;

comment on function tock.let_go is 'Prepares an epoch for being dropped, about p_limit rows a call: 0 when it is ready.';

-- A task may go on, and be asked for, long after the epoch of one of its runs: whoever comes for that
-- run is sent on to what it became, as for a waiting entry. In the order of the key; audit_stream and
-- audit_position, free again after the audit, say how far this has come.
create or replace function tock.send_on(p_epoch integer, p_limit integer)
returns integer
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_at tock.epochs := (select e from tock.epochs e where e.number = p_epoch);
  v_seen integer;
begin
  execute pg_catalog.format($q$
    with seen as materialized (
      select s.* from (
        (select e.stream, e.position, e.next_id is not null as goes_on from tock.results_%1$s e
         where (e.stream, e.position) > ($1, $2) order by e.stream, e.position limit $3)
        union all
        (select m.stream, m.position, true from tock.marks_%1$s m
         where (m.stream, m.position) > ($1, $2) and m.kind = 'superseded' order by m.stream, m.position limit $3)) s
      order by s.stream, s.position fetch first ($3) rows with ties
    ), sent_on as (
      insert into tock.promotions (position, run_id, due_at)
      select r.position, d.next_id, '-infinity'
      from (select distinct s.stream, s.position from seen s where s.goes_on) s
      join tock.runs_%1$s r using (stream, position)
      %2$s
      where d.next_id is not null
      on conflict do nothing
    ), last as (
      select s.stream, s.position from seen s order by s.stream desc, s.position desc limit 1)
    select (select count(*) from seen), (select l.stream from last l), (select l.position from last l)$q$,
    p_epoch, tock.standing(p_epoch))
    into v_seen, v_at.audit_stream, v_at.audit_position
    using coalesce(v_at.audit_stream, 0), coalesce(v_at.audit_position, 0), p_limit;
  if v_seen > 0 then
    update tock.epochs e set audit_stream = v_at.audit_stream, audit_position = v_at.audit_position
    where e.number = p_epoch;
  end if;
  return v_seen;
end $$;

comment on function tock.send_on is 'Notes in promotions what the runs of an epoch became, where they went on; returns how many rows it looked at.';

-- By way of what they were sent on to, or for good. Waiting entries are still to become something.
create or replace function tock.forget_promotions(p_epoch integer, p_limit integer)
returns integer
language plpgsql
volatile
set enable_seqscan = off
set jit = off
as $$
declare
  v_done integer;
begin
  with pointing as materialized (
    select p.position, n.run_id as next_id
    from tock.epochs e
    join tock.promotions p on p.run_id >= e.first_position << 20 and p.run_id < e.end_position << 20
    left join tock.promotions n on n.position = p.run_id >> 20
    where e.number = p_epoch
      and (n.position is not null or not exists (select from tock.waiting w where w.position = p.run_id >> 20))
    limit p_limit
  ), sent_on as (
    update tock.promotions p set run_id = f.next_id from pointing f
    where p.position = f.position and f.next_id is not null
  ), forgotten as (
    delete from tock.promotions p using pointing f where p.position = f.position and f.next_id is null
  )
  select count(*) into v_done from pointing;
  return v_done;
end $$;

comment on function tock.forget_promotions is 'Takes away what points into an epoch from promotions, about p_limit rows; returns how many it took.';
