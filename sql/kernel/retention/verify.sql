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
      execute pg_catalog.format(
        'select r.stream from tock.runs_%s r where r.stream > $1 order by r.stream limit 1',
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
      execute pg_catalog.format(
        'select coalesce(sum(l.runs + l.skipped), 0) from tock.leases_%s l where l.stream = $1',
        v_epoch.number) into v_leased using v_epoch.audit_stream;
      if v_leased <> v_epoch.audit_runs then
        perform tock.requeue_missing(v_epoch.number, v_epoch.audit_stream, v_epoch.audit_runs, v_leased);
      end if;
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
  'Counts the runs of the oldest settled epoch against its leases, '
  'about p_limit a call, and goes on from there the next time; returns how many it looked at.';

create or replace function tock.requeue_missing(
  p_epoch integer, p_stream integer, p_runs bigint, p_leased bigint)
returns integer
language plpgsql
volatile
as $$
declare
  v_missing tock.ending[];
  v_in_leases integer;
  v_requeued integer := 0;
begin
  execute pg_catalog.format('select m.* from tock.missing_runs_%s($1) m', p_epoch)
    into v_missing, v_in_leases using p_stream;
  for v_n in 1 .. pg_catalog.cardinality(v_missing) by 10000 loop
    v_requeued := v_requeued + tock.end_runs(p_epoch, v_missing[v_n : v_n + 9999]);
  end loop;
  insert into tock.reports (kind, detail) values ('audit', pg_catalog.jsonb_build_object(
    'epoch', p_epoch, 'stream', p_stream, 'queue',
    (select s.queue from tock.streams s where s.number = p_stream),
    'runs', p_runs, 'leased', p_leased, 'requeued', v_requeued, 'in_leases', v_in_leases));
  return v_requeued;
end $$;

comment on function tock.requeue_missing is
  'Makes runs of a settled epoch ready again that nobody was handed and that have no result, and reports the '
  'difference; returns how many.';
