-- Whoever has read anything is waited for, and whoever waits has read nothing yet.
lock table tock.queues, tock.epochs, tock.duties, tock.streams, tock.leases, tock.runs, tock.results, tock.marks, tock.waiting,
  tock.promotions, tock.requests, tock.keys in access exclusive mode;

-- Alone, true, is a lease of one run whose token says where it lies; null are all others, and those of before. That was
-- asked of the token itself, an expression that PostgreSQL plans anew for each statement that writes a lease.
-- Building the index anew takes about a second for a million leases.
alter table tock.leases add column alone boolean;
drop index tock.leases_by_token;
create index leases_by_token on tock.leases (token) where alone is null;
