-- Identifies this server and its timeline; changes with a restore, a failover or a branch. A copy of the
-- files has the same system identifier, but its timeline changes when it is promoted or restored to a point
-- in time. A restored dump has a new schema, so another oid. On Neon, the timeline id identifies the branch.
create or replace function tock.server_identity()
returns bigint language sql volatile as $$
  select pg_catalog.hashtextextended(pg_catalog.concat_ws(' ',
    (select c.system_identifier from pg_catalog.pg_control_system() c),
    pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8),
    'tock'::regnamespace::oid, pg_catalog.current_setting('neon.timeline_id', true)), 0)
$$;

-- Runs the guard before the first write or claim after a restore or failover; TK503 while another transaction
-- does. current_segment() checks at each call that the server has not restarted and that the sequence is in
-- the compiled segment. If it returns null, callers use this function, which checks more closely. After a
-- plain restart it does nothing; after any other change it runs the guard at once.
create or replace function tock.guard_before_use()
returns void language plpgsql volatile as $$
begin
  if tock.server_identity() = (select i.last_value from tock.system_identity i)
    and not exists (
      select from tock.segments e
      where (e.started_at is not null or e.closed_at is not null)
        and e.first_position > (select s.last_value from tock.positions s) + 1)
  then
    return;
  end if;
  if not pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), tock.named_key('maintenance_job', 'guard'))
  then
    perform tock.refuse(503, 'the database was restored or has failed over, and is being checked', null,
      'try again in a moment');
  end if;
  perform tock.guard();
end $$;

-- Makes a segment when the last one is nearly full; TK503 if it is full while another transaction makes one.
-- The maintenance job makes segments ahead of time. Without any tick, a writer near the end of the last
-- segment makes the next.
create or replace function tock.create_next_segment()
returns void language plpgsql volatile as $$
declare
  v_last tock.segments;
  v_left bigint;
  v_room bigint;
begin
  select e.* into v_last from tock.segments e order by e.number desc limit 1;
  v_left := v_last.end_position - (select s.last_value from tock.positions s);
  v_room := least(200000, (v_last.end_position - v_last.first_position) / 4);
  if v_left < v_room / 2 or (v_left <= v_room
    and pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(),
      tock.named_key('maintenance_job', 'create_segments')))
  then
    perform tock.create_segments_to((select s.last_value from tock.positions s) + 200000);
  end if;
end $$;

-- setval() takes effect at once and is never rolled back. The jump is over a million positions long. So it
-- ends above each position assigned meanwhile, and above the ids of transactions that a failover lost.
create or replace function tock.guard()
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_seen bigint := (select i.last_value from tock.system_identity i);
  v_identity bigint := tock.server_identity();
  -- in this order: writers continue meanwhile, so a sequence read first would look behind
  v_highest bigint := tock.highest_position(v_seen <> v_identity);
  v_reached bigint := (select s.last_value from tock.positions s);
  v_target bigint := greatest(v_reached, v_highest) + 1048576;
  v_cache bigint := (select q.seqcache from pg_catalog.pg_sequence q
    where q.seqrelid = 'tock.positions'::regclass);
  v_jumped integer := 0;
begin
  if v_cache <> 1 then
    insert into tock.reports (kind, detail)
    values ('guard', pg_catalog.jsonb_build_object('found', 'cache', 'cache', v_cache));
    execute 'alter sequence tock.positions cache 1';
    v_jumped := 1;
  end if;
  if v_highest > v_reached or (v_seen <> v_identity and v_seen <> 0) then
    -- make the segments first: with the sequence beyond them, each write would fail
    perform tock.create_segments_to(v_target + 1048576);
    perform pg_catalog.setval('tock.positions', v_target);
    perform pg_catalog.setval('tock.pool_member_numbers',
      1048576 + greatest((select s.last_value from tock.pool_member_numbers s),
      (select p.number from tock.pool_members p order by p.number desc limit 1)));
    -- a number that exists already would make the call that ends a run fail
    perform pg_catalog.setval('tock.dead_task_event_numbers',
      1048576 + greatest((select s.last_value from tock.dead_task_event_numbers s),
      (select d.number from tock.dead_task_events d order by d.number desc limit 1),
      (select d.reached_key[1]::bigint from tock.maintenance_jobs d where d.name = 'send_dead_task_events')));
    v_jumped := 1;
  end if;
  if v_seen <> v_identity then
    perform pg_catalog.setval('tock.system_identity', v_identity);
  end if;
  -- a rollback undoes the report but not setval(), so write the report if it is missing
  if v_highest > v_reached or v_seen <> v_identity or (
    select r.detail ->> 'identity' from tock.reports r where r.detail ? 'identity'
    order by r.number desc limit 1) is distinct from v_identity::text
  then
    insert into tock.reports (kind, detail) values ('guard', pg_catalog.jsonb_build_object(
      'found', case when v_highest > v_reached then 'behind'
        when exists (select from tock.reports r where r.detail ? 'identity') then 'restored' else 'new' end,
      'identity', v_identity::text, 'sequence', v_reached, 'highest', v_highest,
      'now', (select p.last_value from tock.positions p)));
  end if;
  return v_jumped;
end $$;

comment on function tock.guard is
  'Moves the sequence ahead if it is behind a stored position, or if the server has changed; then adds a '
  'report to tock.reports and returns 1.';

-- The highest stored position: anywhere (p_all), or in awake streams and waiting tasks.
create or replace function tock.highest_position(p_all boolean default true)
returns bigint language plpgsql volatile as $$
declare
  v_segment integer;
  v_run bigint;
begin
  for v_segment in select e.number from tock.segments e order by e.number desc loop
    execute pg_catalog.format($q$
      select max(n.position) from tock.streams s cross join lateral (
        select r.position from tock.runs_%1$s r where r.stream = s.number
        order by r.stream desc, r.position desc limit 1) n
      where (s.awake or %2$L) and exists (select from tock.runs_%1$s)$q$, v_segment, p_all) into v_run;
    exit when v_run is not null;
  end loop;
  return greatest(v_run,
    (select max(s.start_after) from tock.streams s),
    (select w.position from tock.waiting w order by w.position desc limit 1),
    (select p.position from tock.promotions p order by p.position desc limit 1), 0);
end $$;
