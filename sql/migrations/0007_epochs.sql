-- Whoever has read anything is waited for, and whoever waits has read nothing yet.
lock table tock.queues, tock.epochs, tock.duties, tock.streams, tock.leases, tock.runs, tock.results, tock.waiting,
  tock.promotions, tock.requests, tock.keys in access exclusive mode;

-- A lease lies in the leaf of its runs' epoch: leases_N is bounded one lower than runs_N, as a lease
-- starts after the position before its first run. Those that cross an edge are cut there.
alter table tock.leases drop constraint lease_is_a_range;
alter table tock.leases drop constraint outcome_is_known;
alter table tock.leases add column skipped integer not null default 0;
alter table tock.leases add column skips bigint[];
alter table tock.leases
  add constraint lease_is_a_range check (last_position > after_position and runs >= 0 and skipped >= 0),
  add constraint empty_lease_is_closed check (runs > 0 or (outcome is not null and outcome = 'skipped')),
  add constraint outcome_is_known check (outcome in ('done', 'lost', 'skipped'));

do $$
declare
  v_epoch record;
begin
  for v_epoch in select e.number from tock.epochs e order by e.number loop
    execute format('alter table tock.leases detach partition tock.leases_%s', v_epoch.number);
    execute format('alter table tock.leases_%1$s drop constraint if exists leases_%1$s_epoch', v_epoch.number);
  end loop;
  -- an edge row belongs to the next leaf now; what crosses an edge goes on as a row of the next leaf
  for v_epoch in select e.* from tock.epochs e order by e.number loop
    if exists (select from tock.epochs n where n.number = v_epoch.number + 1) then
      execute format($q$
        with edge as (
          delete from tock.leases_%1$s l where l.after_position = %3$s - 1 returning l.*
        ), crossing as (
          select l.*, (select count(*) from tock.runs_%1$s r where r.stream = l.stream
            and r.position > l.after_position and r.position < %3$s)::integer as here
          from tock.leases_%1$s l where l.after_position < %3$s - 1 and l.last_position >= %3$s
        ), cut as (
          update tock.leases_%1$s l set last_position = %3$s - 1, runs = c.here,
            closed_at = case when c.here = 0 then coalesce(l.closed_at, now()) else l.closed_at end,
            outcome = case when c.here = 0 then 'skipped' else l.outcome end
          from crossing c where l.stream = c.stream and l.after_position = c.after_position
        )
        insert into tock.leases_%2$s (after_position, last_position, token, claimed_at, leased_until, closed_at,
          stream, runs, worker, outcome)
        select e.after_position, e.last_position, e.token, e.claimed_at, e.leased_until, e.closed_at,
          e.stream, e.runs, e.worker, e.outcome from edge e
        union all
        select %3$s - 1, c.last_position, c.token, c.claimed_at, c.leased_until, c.closed_at,
          c.stream, c.runs - c.here, c.worker, c.outcome from crossing c$q$,
        v_epoch.number, v_epoch.number + 1, v_epoch.end_position);
    end if;
  end loop;
  for v_epoch in select e.* from tock.epochs e order by e.number loop
    execute format('alter table tock.leases attach partition tock.leases_%s for values from (%s) to (%s)',
      v_epoch.number, v_epoch.first_position - 1, v_epoch.end_position - 1);
  end loop;
end $$;

-- Settled: ended, its writers over, no unread run and no open lease in it. Nothing changes there any
-- more but an erasure; it is audited, and dropped when the longest retention in it has passed.
alter table tock.epochs add column started_at timestamptz;
alter table tock.epochs add column audited_at timestamptz;
alter table tock.epochs add column audit_stream integer;
alter table tock.epochs add column audit_position bigint;
alter table tock.epochs add column audit_runs bigint;
alter table tock.epochs add column queues text[] not null default '{}';
alter table tock.epochs add column dead jsonb not null default '{}';
update tock.epochs set settled_at = null;

-- What the audit found, and when the sequence had to jump: for people, and for doctor().
create table tock.reports (
  number bigint generated always as identity primary key,
  reported_at timestamptz not null default clock_timestamp(),
  kind text not null,
  detail jsonb not null,
  constraint kind_is_known check (kind in ('audit', 'guard'))
);

create index reports_by_time on tock.reports (reported_at);

-- No counter: its value stands for the server as last seen (system, timeline). A sequence, as that is
-- written at once and kept, whatever becomes of the transaction.
create sequence tock.identity minvalue -9223372036854775808 maxvalue 9223372036854775807 start 0;

alter table tock.queues add column retention_seconds integer not null default 604800;
alter table tock.queues add column pause_after_restore boolean not null default false;
alter table tock.queues add column home bigint;
alter table tock.queues add column heavy jsonb not null default '{}';
alter table tock.queues add constraint retention_is_a_minute_to_ten_years
  check (retention_seconds between 60 and 315360000);

-- How far reaping has come: below it only what was committed late, for the sweep.
alter table tock.duties add column reached_at timestamptz;
alter table tock.duties add column swept_at timestamptz;

alter table tock.epochs add column drop_after timestamptz;
alter table tock.epochs add column drop_tries integer not null default 0;

-- Runs come in the order of their ids, nearly: this costs next to nothing, and finds those of an epoch.
create index promotions_by_run on tock.promotions using brin (run_id);

insert into tock.duties (name, every_seconds) values ('guard', 60), ('audit', 60), ('retain', 60), ('balance', 5);

drop function if exists tock.leaves(text, integer, integer);
drop function if exists tock.oldest_live_epoch();
drop function if exists tock.epoch_of_lease(uuid);
drop function if exists tock.candidates_statement(integer, integer);
drop function if exists tock.cursor_statement(integer, integer);
drop function if exists tock.draw_statement(integer, integer);
drop function if exists tock.exceptions_statement(integer, integer);
drop function if exists tock.draw_hot(integer, bigint, bigint, integer, uuid, text, timestamptz, integer, boolean,
  smallint, smallint);
drop function if exists tock.end_runs(tock.ended[]);
drop function if exists tock.run_state(integer, bigint);
drop function if exists tock.close_hot(uuid);
drop function if exists tock.exceptions_hot(uuid);
drop function if exists tock.candidates_hot(text, integer, integer[], integer);
drop function if exists tock.reap(integer);
drop function if exists tock.settle_epochs();
drop function if exists tock.rest(integer);
drop function if exists tock.extend(uuid, integer);
drop function if exists tock.queue_stats(text);
