-- Whoever has read anything is waited for, and whoever waits has read nothing yet.
lock table tock.queues, tock.epochs, tock.duties, tock.streams, tock.leases, tock.runs, tock.results, tock.marks, tock.waiting,
  tock.promotions, tock.requests, tock.keys, tock.nudges in access exclusive mode;

-- Children that promotion must look at: one child whose row was locked, or all that watch some runs of a stream, which
-- ended in a transaction whose snapshot may not show them. The newest are read first: under a held-open transaction the
-- low end is full of dead entries.
-- Those that were to be looked at are due for a look.
update tock.waiting w set due_at = clock_timestamp() from tock.nudges n where w.position = n.child and w.after_due is not null;

drop function if exists tock.heed_nudges();
drop table tock.nudges;
create table tock.nudges (
  number bigint generated always as identity primary key,
  -- A child whose row is held for long is tried again no sooner.
  not_before timestamptz not null default clock_timestamp() + interval '0.5 s',
  child bigint,
  after_position bigint,
  upto bigint,
  stream integer,
  constraint nudge_names_a_child_or_runs check (num_nulls(child, stream) = 1
    and num_nulls(stream, after_position, upto) in (0, 3))
);
