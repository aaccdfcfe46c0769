-- Whoever has read anything is waited for, and whoever waits has read nothing yet.
lock table tock.queues, tock.epochs, tock.duties, tock.streams, tock.leases, tock.runs, tock.results, tock.marks, tock.waiting,
  tock.promotions, tock.requests, tock.keys in access exclusive mode;

-- A lease of one run says in its token where it lies. Tokens from before begin with a 0 and stay in the index;
-- building it anew takes about a second for a million leases.
drop index tock.leases_by_token;
create index leases_by_token on tock.leases (token) where token < '80000000-0000-0000-0000-000000000000';
