-- Step by step: a call does one of these where there is anything left of it to do.
create or replace function tock.let_go(p_epoch integer, p_limit integer default 100000)
returns integer
language plpgsql
volatile
as $$
declare
  v_done integer := tock.send_on(p_epoch, p_limit);
begin
  if v_done = 0 then
    v_done := tock.forget_promotions(p_epoch, p_limit);
  end if;
  if v_done = 0 then
    v_done := tock.judge_replacements(p_epoch, p_limit);
  end if;
  return v_done;
end $$;

comment on function tock.let_go is 'Prepares an epoch for being dropped, about p_limit rows a call: 0 when it is ready, null when that can''t be now.';

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

-- What came too late to replace one of its runs is told so while that can be known: a waiting entry is taken
-- away, a run marked as cancelled, and why: it is no end of its task. A run of a settled epoch was handed out
-- or passed over; so was what it had replaced itself, and so on; only what lies in an earlier epoch is judged
-- as a claim would.
create or replace function tock.judge_replacements(p_epoch integer, p_limit integer)
returns integer
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_at tock.epochs := (select e from tock.epochs e where e.number = p_epoch);
  v_waiting bigint[];
  v_runs bigint[];
  v_unsure boolean;
begin
  execute pg_catalog.format($q$
    with recursive replacing as (
      select w.position << 20 as id, w.replaces from tock.waiting w where w.replaces >= $1 and w.replaces < $2
      union all
      select m.position << 20 | m.stream, m.other_id
      from tock.marks m
      cross join lateral (
        select bool_or(o.kind = 'cancelled' and o.changes ? 'late') as told from tock.marks o
        where o.stream = m.stream and o.position = m.position offset 0) o
      where m.kind = 'replaces' and m.other_id >= $1 and m.other_id < $2 and m.position >= $3 and not o.told
    ), links as (
      select r.id, r.id as via, r.replaces as at from replacing r
      union all
      select l.id, l.at, m.replaces
      from links l
      cross join lateral (
        select max(k.other_id) as replaces from tock.marks_%1$s k
        where k.stream = (l.at & 1048575)::integer and k.position = l.at >> 20 and k.kind = 'replaces' offset 0) m
      where l.at >= $1 and m.replaces is not null
    ), judged as materialized (
      select l.id, case when l.at < $1 then tock.judge(l.via, l.at) when s.started then 'late' else 'go' end as verdict
      from links l
      left join lateral (
        select c.last_position >= l.at >> 20 and c.runs > 0 and l.at >> 20 <> all (coalesce(c.skips, '{}')) as started
        from tock.leases_%1$s c where c.stream = (l.at & 1048575)::integer and c.after_position < l.at >> 20 and l.at >= $1
        order by c.stream desc, c.after_position desc limit 1) s on true
    ), late as (
      select distinct j.id from judged j where j.verdict = 'late' limit $4)
    select array(select l.id >> 20 from late l where l.id & 1048575 = 0), array(select l.id from late l where l.id & 1048575 <> 0),
      exists (select from judged j where j.verdict = 'later')$q$, p_epoch)
    into v_waiting, v_runs, v_unsure using v_at.first_position << 20, v_at.end_position << 20, v_at.end_position, p_limit;
  if v_unsure then
    return null;
  end if;
  delete from tock.waiting w where w.position = any (v_waiting);
  insert into tock.marks (stream, position, kind, changes)
  select i & 1048575, i >> 20, 'cancelled', '{"late": true}' from unnest(v_runs) i order by 1, 2
  on conflict (stream, position, kind) do update set changes = excluded.changes;
  return pg_catalog.cardinality(v_waiting) + pg_catalog.cardinality(v_runs);
end $$;

comment on function tock.judge_replacements is 'Tells what came too late to replace a run of an epoch, about p_limit a call; returns how many, null when the stream of one is being claimed from.';

create or replace function tock.replaced_in(p_epoch integer)
returns bigint
language plpgsql
volatile
set enable_seqscan = off
as $$
declare
  v_count bigint;
begin
  execute pg_catalog.format($q$select count(*) from tock.marks_%s m where m.kind = 'superseded'$q$, p_epoch) into v_count;
  return v_count;
end $$;

comment on function tock.replaced_in is 'How many runs of an epoch have been replaced or cancelled before they started, ever.';

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
