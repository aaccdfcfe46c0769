-- The net under every bug that could lose a run: once an epoch is settled, each stream's runs must be as
-- many as its leases handed out and passed over. What is missing in all of them is handed out after all.
create or replace function tock.audit(p_limit integer default 1000000)
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_epoch tock.epochs;
  v_left integer := p_limit;
  v_looked integer := 0;
  v_count integer;
  v_last bigint;
  v_leased bigint;
begin
  select e.* into v_epoch from tock.epochs e
  where e.settled_at is not null and e.audited_at is null order by e.number limit 1 for update;
  if not found then
    return 0;
  end if;
  while v_left > 0 loop
    if v_epoch.audit_position is null then
      execute pg_catalog.format('select r.stream from tock.runs_%s r where r.stream > $1 order by r.stream limit 1',
        v_epoch.number) into v_epoch.audit_stream using coalesce(v_epoch.audit_stream, 0);
      if v_epoch.audit_stream is null then
        update tock.epochs e set audited_at = pg_catalog.now(), audit_stream = null, queues = v_epoch.queues
        where e.number = v_epoch.number;
        return v_looked + 1;
      end if;
      v_epoch.audit_position := -1;
      v_epoch.audit_runs := 0;
      v_epoch.queues := array(select distinct q from unnest(
        v_epoch.queues || (select s.queue from tock.streams s where s.number = v_epoch.audit_stream)) q
        order by q);
    end if;
    execute pg_catalog.format($q$
      select count(*), max(n.position) from (
        select r.position from tock.runs_%s r where r.stream = $1 and r.position > $2
        order by r.stream, r.position limit $3) n$q$, v_epoch.number)
      into v_count, v_last using v_epoch.audit_stream, v_epoch.audit_position, v_left;
    v_epoch.audit_runs := v_epoch.audit_runs + v_count;
    v_epoch.audit_position := coalesce(v_last, v_epoch.audit_position);
    if v_count < v_left then
      execute pg_catalog.format('select coalesce(sum(l.runs + l.skipped), 0) from tock.leases_%s l where l.stream = $1',
        v_epoch.number) into v_leased using v_epoch.audit_stream;
      if v_leased <> v_epoch.audit_runs then
        perform tock.requeue_missing(v_epoch.number, v_epoch.audit_stream, v_epoch.audit_runs, v_leased);
      end if;
      perform tock.on_stream_verified(v_epoch.number, v_epoch.audit_stream);
      v_epoch.audit_position := null;
    end if;
    v_looked := v_looked + v_count + 1;
    v_left := v_left - v_count - 100;  -- a stream costs that much beside its runs
  end loop;
  update tock.epochs e set audit_stream = v_epoch.audit_stream, audit_position = v_epoch.audit_position,
    audit_runs = v_epoch.audit_runs, queues = v_epoch.queues
  where e.number = v_epoch.number;
  return v_looked;
end $$;

comment on function tock.audit is
  'Counts the runs of the oldest settled epoch against its leases and adds up what ended there by hour, about p_limit a call, and goes on from there the next time; returns how many it looked at.';

-- A run in no lease was never handed out. Where a lease's range holds more than it took, those that were
-- begun after the claim were not; where that doesn't tell, all of its runs without a result go again. What
-- was superseded unread goes on as another.
create or replace function tock.requeue_missing(p_epoch integer, p_stream integer, p_runs bigint, p_leased bigint)
returns integer
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_missing tock.ending[];
  v_in_leases integer;
  v_requeued integer := 0;
begin
  execute pg_catalog.format($q$
    with covered as materialized (
      select r.position, r.attempt, r.lost, l.after_position, l.runs + l.skipped as counted,
        (select e.position from tock.results_%1$s e where e.stream = r.stream and e.position = r.position) is null
          and r.position <> all (coalesce(l.skips, '{}')) as open,
        r.created_at > l.claimed_at as late
      from tock.runs_%1$s r
      left join lateral (
        select c.* from tock.leases_%1$s c where c.stream = r.stream and c.after_position < r.position
        order by c.stream desc, c.after_position desc limit 1) l on l.last_position >= r.position
      where r.stream = $1
    ), judged as (
      select c.*, count(*) over w - c.counted as excess, count(*) filter (where c.open and c.late) over w as late_ones
      from covered c window w as (partition by c.after_position)
    ), missing as (
      select j.* from judged j
      where j.open and (
        (j.after_position is null and not exists (
          select from tock.marks_%1$s m
          where m.stream = $1 and m.position = j.position and m.kind = 'superseded' and m.other_id > 0))
        or (j.excess > 0 and (j.late or j.excess <> j.late_ones)))
    )
    select array(
      select row($1, m.position, 'lost', null,
        pg_catalog.jsonb_build_object('name', 'NeverClaimed', 'message', 'no claim had handed this run out: found by the audit'),
        '-infinity', m.attempt, m.lost, null, null)::tock.ending
      from missing m order by m.position),
      (select count(*) from missing m where m.after_position is not null)$q$, p_epoch)
    into v_missing, v_in_leases using p_stream;
  for v_n in 1 .. pg_catalog.cardinality(v_missing) by 10000 loop
    v_requeued := v_requeued + tock.end_runs(p_epoch, v_missing[v_n : v_n + 9999]);
  end loop;
  insert into tock.reports (kind, detail) values ('audit', pg_catalog.jsonb_build_object(
    'epoch', p_epoch, 'stream', p_stream, 'queue', (select s.queue from tock.streams s where s.number = p_stream),
    'runs', p_runs, 'leased', p_leased, 'requeued', v_requeued, 'in_leases', v_in_leases));
  return v_requeued;
end $$;

comment on function tock.requeue_missing is 'Makes runs of a settled epoch ready again that nobody was handed and that have no result, and reports the difference; returns how many.';
