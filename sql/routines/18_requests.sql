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
  'What a call with this request id was given before, all null when it is new. TK422 when the call has changed since.';
