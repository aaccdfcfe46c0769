-- Whoever has read anything is waited for, and whoever waits has read nothing yet.
lock table tock.queues, tock.epochs, tock.duties, tock.streams, tock.leases, tock.runs, tock.results, tock.marks, tock.waiting,
  tock.promotions, tock.requests, tock.keys, tock.nudges in access exclusive mode;

-- Children that promotion must look at: one child whose row was locked, or all that watch some runs of a stream, which
-- ended in a transaction whose snapshot may not show them. The newest are read first: under a held-open transaction the
-- low end is full of dead entries.
drop function if exists tock.heed_nudges();
drop table tock.nudges;
create table tock.nudges (
  number bigint generated always as identity primary key,
  child bigint,
  after_position bigint,
  upto bigint,
  stream integer,
  constraint nudge_names_a_child_or_runs check (num_nulls(child, stream) = 1
    and num_nulls(stream, after_position, upto) in (0, 3))
);
