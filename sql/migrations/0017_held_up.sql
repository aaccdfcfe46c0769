-- Whoever has read anything is waited for, and whoever waits has read nothing yet.
lock table tock.queues, tock.epochs, tock.duties, tock.streams, tock.leases, tock.runs, tock.results, tock.marks, tock.waiting,
  tock.promotions, tock.requests, tock.keys, tock.watches in access exclusive mode;

-- Who waits for a parent that ended otherwise than done. Those that did before this migration say so at their next look, within a day.
alter table tock.watches add column held_up boolean not null default false;

create index watches_held_up on tock.watches (stream, position) where held_up;
