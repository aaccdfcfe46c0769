-- The stored answer to a call with this request id; all null for a new id. TK422 if the arguments differ from
-- the first call. Two calls with one request id run one after the other: the second waits here and then
-- returns the answer of the first.
create or replace function tock.request_seen(p_verb text, p_queue text, p_request_id text, p_digest bigint)
returns tock.requests language plpgsql volatile as $$
declare
  v_seen tock.requests;
begin
  if pg_catalog.length(p_request_id) not between 1 and 200 then
    perform tock.refuse(422, 'request_id must have 1 to 200 characters', 'request_id');
  end if;
  perform pg_catalog.pg_advisory_xact_lock(
    pg_catalog.hashtextextended(pg_catalog.concat_ws(' ', p_verb, p_queue, p_request_id), tock.lock_space()));
  select r.* into v_seen from tock.requests r
  where r.queue = p_queue and r.verb = p_verb and r.request_id = p_request_id;
  if v_seen.digest <> p_digest then
    perform tock.refuse(422, 'this request_id was used for a different call', 'request_id',
      'use a new request_id for new work; repeat a call unchanged');
  end if;
  return v_seen;
end $$;

-- True if the calling verb is its whole transaction; p_context is the verb's PG_CONTEXT. Returns
-- p_own_transaction, except where it is certainly wrong: a function makes the call, the transaction has
-- already written, or it is not read committed. PostgreSQL cannot say what the transaction will write later.
-- A claim with p_own_transaction commits asynchronously, and so would those writes. So the default is false.
-- Between nodes the function tock_nodes.ask() makes the call, and no other.
create or replace function tock.is_own_transaction(p_own_transaction boolean, p_context text)
returns boolean language sql volatile as $$
  select p_own_transaction
    and (pg_catalog.strpos(p_context, E'\n') = 0 or (pg_catalog.strpos(p_context, 'tock_nodes.ask(') > 0
      and p_context ~ '\nPL/pgSQL function tock_nodes\.ask\(text,text,text\[]\) line \d+ at RETURN QUERY$'
      and p_context !~ '\n(PL/\S+|SQL) function .*\n'))
    and pg_catalog.pg_current_xact_id_if_assigned() is null
    and pg_catalog.current_setting('transaction_isolation') = 'read committed'
$$;

-- True if the calling statement has used at least 90 % of statement_timeout. PostgreSQL raises query_canceled
-- both for a statement_timeout and for a cancelled call. This function tells them apart by the time that the
-- statement has used.
create or replace function tock.is_out_of_time()
returns boolean language sql volatile as $$
  select t.most > interval '0' and pg_catalog.clock_timestamp() - pg_catalog.statement_timestamp()
    >= 0.9 * t.most
  from (select pg_catalog.current_setting('statement_timeout')::interval as most) t
$$;

-- True if this transaction has fired schedules. It must then commit synchronously: if a crash lost the fire,
-- the schedule would fire again, with another task.
create or replace function tock.has_fired()
returns boolean language sql volatile as $$
  select coalesce(pg_catalog.current_setting('tock.schedule_history', true) = 'on', false)
$$;
