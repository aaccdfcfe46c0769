-- Whoever has read anything is waited for, and whoever waits has read nothing yet.
lock table tock.queues, tock.epochs, tock.duties, tock.streams, tock.leases, tock.runs, tock.results, tock.marks, tock.waiting,
  tock.promotions, tock.requests, tock.keys in access exclusive mode;

-- A lease of one run says in its token where it lies: then the token's first bit is 1 and its version 8, which no
-- token from before has. Building the index anew takes about a second for a million leases.
drop index tock.leases_by_token;
create index leases_by_token on tock.leases (token)
  where not (get_byte(uuid_send(token), 0) > 127 and get_byte(uuid_send(token), 6) >> 4 = 8);
