-- True on a server that keeps its log elsewhere: Neon or Aurora.
create or replace function tock.stores_elsewhere()
returns boolean language sql stable as $$
  select pg_catalog.current_setting('neon.timeline_id', true) is not null
    or pg_catalog.to_regproc('pg_catalog.aurora_version') is not null
$$;

-- A finding about the session, slot or prepared transaction that holds back vacuum for the most transactions.
-- Vacuum cannot remove rows that a session, slot or standby may still read. PostgreSQL hides when a session
-- of another role began its transaction. It still shows backend_xmin, so the age is counted in transactions.
-- The default of p_transactions, 5 million, is a tenth of vacuum_freeze_min_age's default.
create or replace function tock.doctor_of_horizon(p_transactions integer default 5000000)
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  select 'vacuum is held back', 'warning',
    pg_catalog.format('%s, over the last %s transactions', h.who, h.transactions), h.hint
  from (
    select tock.described_session(a.pid) as who,
      greatest(age(a.backend_xmin), age(a.backend_xid)) as transactions,
      pg_catalog.format(
        'end its transaction, or select pg_terminate_backend(%s); for a standby, turn hot_standby_feedback '
        'off or end its long query', a.pid) as hint
    from pg_catalog.pg_stat_activity a
    where (a.datname = pg_catalog.current_database() or a.datname is null) and a.usesysid is not null
      and a.pid <> pg_catalog.pg_backend_pid()
    union all
    select pg_catalog.format('the replication slot %s', s.slot_name),
      greatest(age(s.xmin), age(s.catalog_xmin)),
      pg_catalog.format('let its reader catch up, or select pg_drop_replication_slot(%L)', s.slot_name)
    from pg_catalog.pg_replication_slots s
    union all
    select pg_catalog.format('the prepared transaction %s of %s', p.gid, p.owner), age(p.transaction),
      pg_catalog.format('commit prepared %1$L, or rollback prepared %1$L', p.gid)
    from pg_catalog.pg_prepared_xacts p where p.database = pg_catalog.current_database()) h
  where h.transactions > p_transactions
  order by h.transactions desc limit 1
$$;

-- Findings about replication slots without a reader, or with lost log.
create or replace function tock.doctor_of_slots()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  with slots as (
    select s.*, pg_catalog.format('%s (%s)', s.slot_name, coalesce(s.database, s.slot_type)) as slot,
      case when not pg_catalog.pg_is_in_recovery()
        then pg_catalog.pg_size_pretty(pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(),
          s.restart_lsn)) end as kept
    from pg_catalog.pg_replication_slots s
    -- the slot of Neon itself
    where not s.temporary and not (s.slot_name = 'wal_proposer_slot' and tock.stores_elsewhere()))
  (select 'a replication slot has lost its log', 'warning', pg_catalog.format('%s: %s', s.slot, s.wal_status),
    pg_catalog.format(
      'its reader cannot continue and has to be set up again; then select pg_drop_replication_slot(%L)',
      s.slot_name)
  from slots s where s.wal_status = 'lost' order by s.slot_name limit 5)
  union all
  (select 'a replication slot has no reader', 'warning',
    pg_catalog.concat_ws(' and ', pg_catalog.format('%s keeps %s of the log', s.slot, s.kept),
      case when coalesce(s.xmin, s.catalog_xmin) is not null then 'old rows' end),
    pg_catalog.format(
      'start its reader again, or select pg_drop_replication_slot(%L): until then the disk fills',
      s.slot_name)
  from slots s
  where not s.active and s.restart_lsn is not null and coalesce(s.wal_status <> 'lost', true)
  order by s.restart_lsn limit 5)
$$;

-- Findings about the sequence and the segments. The highest position is read before the sequence, because
-- writers continue meanwhile.
create or replace function tock.doctor_of_positions()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  with sequence as materialized (
    select h.highest, s.last_value, q.seqcache, e.end_position, q.seqmax - s.last_value as left_in_range,
      (select count(*) from tock.segments a where a.first_position > s.last_value) as ahead
    from (select tock.highest_position() as highest offset 0) h
    cross join lateral (select p.last_value from tock.positions p where h.highest is not null offset 0) s
    cross join (select max(e.end_position) as end_position from tock.segments e) e
    join pg_catalog.pg_sequence q on q.seqrelid = 'tock.positions'::regclass
  )
  select 'the sequence is behind', 'critical',
    pg_catalog.format('tock.positions is at %s, but position %s is stored', s.last_value, s.highest),
    'select tock.run_maintenance(''guard''); then find out what set it back: a restore of data only, '
    'replication, setval'
  from sequence s where s.highest > s.last_value
  union all
  select 'the sequence is cached', 'critical',
    pg_catalog.format('each session takes %s positions at a time, so they are used out of order',
      s.seqcache),
    'alter sequence tock.positions cache 1'
  from sequence s where s.seqcache <> 1
  union all
  select 'no segment lies ahead', case when s.end_position - s.last_value < 200000 then 'critical'
    else 'warning' end,
    pg_catalog.format('%s positions are left', greatest(s.end_position - s.last_value, 0)),
    'select tock.run_maintenance(''create_segments''), and see in tock.maintenance_jobs why it did not run'
  from sequence s where s.ahead = 0 and s.left_in_range >= s.end_position - s.last_value
$$;
