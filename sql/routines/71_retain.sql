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
        update tock.epochs e set audited_at = pg_catalog.now(), audit_stream = null where e.number = v_epoch.number;
        return p_limit - v_left + 1;
      end if;
      v_epoch.audit_position := -1;
      v_epoch.audit_runs := 0;
      v_epoch.queues := array(select distinct q from unnest(
        v_epoch.queues || (select s.queue from tock.streams s where s.number = v_epoch.audit_stream)) q);
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
      v_epoch.audit_position := null;
    end if;
    v_left := v_left - v_count - 1;
  end loop;
  update tock.epochs e set audit_stream = v_epoch.audit_stream, audit_position = v_epoch.audit_position,
    audit_runs = v_epoch.audit_runs, queues = v_epoch.queues
  where e.number = v_epoch.number;
  return p_limit - v_left;
end $$;

comment on function tock.audit is
  'Counts the runs of the oldest settled epoch against its leases, about p_limit a call, and goes on from there the next time; returns how many it looked at.';

create or replace function tock.requeue_missing(p_epoch integer, p_stream integer, p_runs bigint, p_leased bigint)
returns integer
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_missing tock.ended[];
  v_requeued integer := 0;
begin
  loop
    execute pg_catalog.format($q$
      select array(
        select row(r.stream, r.position, 'lost', null,
          pg_catalog.jsonb_build_object('name', 'NeverClaimed', 'message', 'no claim had handed this run out: found by the audit'),
          '-infinity', r.attempt, r.lost)::tock.ended
        from tock.runs_%1$s r
        where r.stream = $1
          and (select l.last_position from tock.leases_%1$s l where l.stream = r.stream and l.after_position < r.position
               order by l.stream desc, l.after_position desc limit 1) >= r.position is not true
          and (select e.position from tock.results_%1$s e where e.stream = r.stream and e.position = r.position) is null
        order by r.position limit 10000)$q$, p_epoch) into v_missing using p_stream;
    exit when pg_catalog.cardinality(v_missing) = 0;
    v_requeued := v_requeued + tock.end_runs(p_epoch, v_missing);
  end loop;
  insert into tock.reports (kind, detail) values ('audit', pg_catalog.jsonb_build_object(
    'epoch', p_epoch, 'stream', p_stream, 'queue', (select s.queue from tock.streams s where s.number = p_stream),
    'runs', p_runs, 'leased', p_leased, 'requeued', v_requeued));
  return v_requeued;
end $$;

comment on function tock.requeue_missing is 'Makes runs of a settled epoch ready again that lie in no lease and have no result, and reports the difference; returns how many.';

-- The only detach there is. It waits for readers of any epoch, and everybody behind it: so for 10 ms a
-- table, and then not again for a minute, two, four ... an hour. Its locks last to the end of the
-- transaction: it is the last thing done there.
create or replace function tock.retain()
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10ms'
as $$
declare
  v_epoch tock.epochs;
begin
  for v_epoch in
    select e.* from tock.epochs e
    where e.settled_at is not null and e.audited_at is not null
      and coalesce(e.drop_after, '-infinity') < pg_catalog.now()
      and e.settled_at < pg_catalog.now() - interval '1 second' * coalesce((
        select max((tock.policy(q)).retention_seconds) from unnest(e.queues) q), 0)
    order by e.number limit 4
  loop
    if tock.let_go(v_epoch.number, 100000) > 0 then
      return 1;
    end if;
    begin
      perform tock.drop_epoch(v_epoch.number);
      return 1;
    exception
      when lock_not_available then
        update tock.epochs e set drop_tries = e.drop_tries + 1,
          drop_after = pg_catalog.now() + least(interval '1 hour', interval '1 minute' * 2 ^ least(e.drop_tries, 6))
        where e.number = v_epoch.number;
    end;
  end loop;
  return 0;
end $$;

comment on function tock.retain is
  'Drops the oldest epoch that is audited and whose longest retention has passed, one a call; returns 1 when it did something.';

-- What still points into an epoch that goes: tasks that wait stay known by their first id, and what waits
-- to replace one of its runs is judged now, while that can be told.
create or replace function tock.let_go(p_epoch integer, p_limit integer)
returns integer
language plpgsql
volatile
as $$
declare
  v_first bigint := (select e.first_position << 20 from tock.epochs e where e.number = p_epoch);
  v_end bigint := (select e.end_position << 20 from tock.epochs e where e.number = p_epoch);
  v_entry record;
  v_deleted integer;
begin
  insert into tock.promotions (position, run_id, due_at)
  select w.task_id >> 20, w.position << 20, '-infinity' from tock.waiting w
  where w.task_id >= v_first and w.task_id < v_end and w.task_id & 1048575 <> 0
  on conflict (position) do update set run_id = excluded.run_id;
  for v_entry in
    select w.position, tock.judge(w.replaces) as verdict from tock.waiting w
    where w.replaces >= v_first and w.replaces < v_end limit p_limit
  loop
    if v_entry.verdict = 'go' then
      update tock.waiting w set replaces = null where w.position = v_entry.position;
    elsif v_entry.verdict = 'late' then
      delete from tock.waiting w where w.position = v_entry.position;
    end if;
  end loop;
  delete from tock.promotions p where p.ctid = any (array(
    select o.ctid from tock.promotions o
    where o.run_id >= v_first and o.run_id < v_end
      and not (o.run_id & 1048575 = 0 and exists (select from tock.waiting w where w.position = o.run_id >> 20))
    limit p_limit));
  get diagnostics v_deleted = row_count;
  return v_deleted;
end $$;

comment on function tock.let_go is 'Prepares an epoch for being dropped, up to p_limit promotions a call; returns how many it deleted: 0 when it is ready.';

create or replace function tock.drop_epoch(p_epoch integer)
returns void
language plpgsql
volatile
as $$
declare
  v_table text;
begin
  foreach v_table in array array['runs', 'leases', 'results', 'marks'] loop
    execute pg_catalog.format('lock table only tock.%s in access exclusive mode', v_table);
  end loop;
  foreach v_table in array array['runs', 'leases', 'results', 'marks'] loop
    execute pg_catalog.format('drop table tock.%s_%s', v_table, p_epoch);
  end loop;
  delete from tock.epochs e where e.number = p_epoch;
end $$;

comment on function tock.drop_epoch is 'Drops an epoch''s leaves: 55P03 when somebody reads and it would have to wait.';
