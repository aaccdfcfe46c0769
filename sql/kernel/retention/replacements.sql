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
