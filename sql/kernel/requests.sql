-- Two calls with one request id follow each other: the second waits here and then finds what the
-- first was given.
create or replace function tock.request_seen(p_verb text, p_queue text, p_request_id text, p_digest bigint)
returns tock.requests
language plpgsql
volatile
as $$
declare
  v_seen tock.requests;
begin
  if pg_catalog.length(p_request_id) not between 1 and 200 then
    perform tock.refuse(422, 'a request_id is 1 to 200 characters', 'request_id');
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

comment on function tock.request_seen is
  'What a call with this request id was given before, all null when it is new. TK422 '
  'when the call has changed since.';

-- What the caller says is believed unless it is plainly wrong: called from a function, something
-- written before, or another isolation. Nothing shows what the rest of the statement or transaction
-- will write, and an asynchronous commit would weaken that: so it is never assumed.
create or replace function tock.is_own_transaction(p_own_transaction boolean, p_context text)
returns boolean
language sql
volatile
as $$
  select p_own_transaction
    and pg_catalog.strpos(p_context, E'\n') = 0
    and pg_catalog.pg_current_xact_id_if_assigned() is null
    and pg_catalog.current_setting('transaction_isolation') = 'read committed'
$$;

comment on function tock.is_own_transaction is
  'Whether the calling verb may take itself for the whole transaction; p_context is its PG_CONTEXT.';

-- PostgreSQL raises the same error, query_canceled, for a statement_timeout and for a call
-- that somebody cancels.
create or replace function tock.is_out_of_time()
returns boolean
language sql
volatile
as $$
  select t.most > interval '0' and pg_catalog.clock_timestamp() - pg_catalog.statement_timestamp()
    >= 0.9 * t.most
  from (select pg_catalog.current_setting('statement_timeout')::interval as most) t
$$;

comment on function tock.is_out_of_time is
  'Whether the calling statement has taken as long as statement_timeout lets it, or nearly.';

create or replace function tock.has_fired()
returns boolean
language sql
volatile
as $$
  select coalesce(pg_catalog.current_setting('tock.schedule_history', true) = 'on', false)
$$;

comment on function tock.has_fired is
  'Whether this transaction has fired schedules. Then it commits synchronously: a fire that a crash forgets '
  'comes again, as another task.';
