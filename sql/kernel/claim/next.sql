-- A worker that goes from task to task needs one call for each: next() ends what is done and claims what
-- comes next, in one transaction. The transaction commits synchronously, because it ends runs. It therefore
-- holds the locks of its streams until the disk has answered, and other claims of these streams wait for
-- that. So this claim only tries locks: with p_bytes below 4 MiB, claim_streams() waits for none.
create or replace function tock.next(
  p_queue text, p_ends jsonb, p_worker text default null, p_limit integer default 1,
  p_lease_seconds integer default null, p_request_id text default null,
  p_own_transaction boolean default false)
returns table (ended jsonb, claimed tock.claimed[]) language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_context text;
  v_next record;
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform tock.check_read_committed('next');
  end if;
  get diagnostics v_context = pg_context;
  v_next := tock.end_and_claim(p_queue, p_ends, p_worker, p_limit, p_lease_seconds, p_request_id,
    tock.is_own_transaction(p_own_transaction, v_context));
  ended := v_next.ended;
  claimed := v_next.claimed;
  return next;
end $$;

comment on function tock.next is
  'Ends runs of leases, then claims like claim(), in one transaction. p_ends is [{lease, results, '
  'failures}], with results as in complete() and failures as in fail(); with the lease alone all its runs '
  'that are left are done. Returns one row. ended has for each of p_ends {lease, completed, failed, dead, '
  'refused, lost}: refused are the ids that the call left alone, and lost is true if the lease had ended '
  'before. claimed has the claimed runs. A lost lease does not prevent the claim, and with p_limit 0 there '
  'is none. A repeated call ends nothing twice, and with its request_id it claims the same runs. The claim '
  'waits for no lock: while other claims hold the tasks it claims none.';

-- next(); p_own_transaction says that the calling verb is the whole transaction. Without p_ends it is a
-- claim, and ended is null.
create or replace function tock.end_and_claim(
  p_queue text, p_ends jsonb, p_worker text, p_limit integer, p_lease_seconds integer, p_request_id text,
  p_own_transaction boolean, out ended jsonb, out claimed tock.claimed[])
language plpgsql volatile as $$
declare
  v_ends boolean := coalesce(p_ends, 'null') <> 'null';
  v_one tock.claimed;
begin
  if v_ends then
    -- before the ends, so that no other call waits for their locks meanwhile
    if p_own_transaction and pg_catalog.random() < 0.0625 and tock.current_segment() is not null then
      perform tock.piggyback_maintenance();
    end if;
    p_own_transaction := false;
    ended := tock.end_leases(p_ends);
    if p_limit = 0 then
      claimed := '{}';
      return;
    end if;
  end if;
  if p_limit = 1 and coalesce(p_lease_seconds, 1) between 1 and 86400
    and coalesce(pg_catalog.length(p_worker), 0) <= 200
  then
    v_one := tock.claim_one(p_queue, p_worker, p_lease_seconds, p_request_id, p_own_transaction);
    if v_one.lease is not null then
      claimed := array[v_one];
      return;
    elsif v_one.id = 0 then
      claimed := '{}';
      return;
    end if;
  end if;
  claimed := array(
    select c from tock.claim_streams(p_queue, p_worker, p_request_id, p_own_transaction,
      tock.begin_claim(p_queue, p_worker, p_limit, p_lease_seconds, p_request_id, p_own_transaction,
        case when v_ends then 4194303 else 4194304 end)) c);
end $$;

-- Ends the leases of next() in their order; returns its column ended. complete() and fail() check most fields
-- too, but they do not know which of the ends is wrong. What only they can check, such as the size of a
-- result, they name as a field of their own.
create or replace function tock.end_leases(p_ends jsonb)
returns jsonb language plpgsql volatile as $$
declare
  v_text text := case when pg_catalog.pg_column_size(p_ends) < 100 then p_ends::text end;
  v_field text;
  v_lease uuid;
  v_results jsonb;
  v_failures jsonb;
  v_completed integer;
  v_failed integer;
  v_dead integer;
  v_part bigint[];
  v_refused bigint[];
  v_lost boolean;
  v_ended jsonb := '[]';
begin
  -- the most frequent call: one whole lease
  if v_text like '[{"lease": "________-____-____-____-____________"}]'
    and pg_catalog.translate(pg_catalog.substr(v_text, 13, 36), '0123456789abcdef', '') = '----'
  then
    v_lease := pg_catalog.substr(v_text, 13, 36);
    v_completed := tock.end_lease_current(v_lease, tock.token_segment(v_lease));
    if v_completed > 0 then
      return pg_catalog.concat('[{"lease": "', v_lease, '", "completed": ', v_completed,
        ', "failed": 0, "dead": 0, "refused": [], "lost": false}]');
    end if;
  end if;
  if pg_catalog.jsonb_typeof(p_ends) <> 'array'
    or pg_catalog.jsonb_array_length(p_ends) not between 1 and 1000
  then
    perform tock.refuse(422, 'ends must be an array of 1 to 1,000 objects', 'ends');
  end if;
  for v_n in 0 .. pg_catalog.jsonb_array_length(p_ends) - 1 loop
    v_field := pg_catalog.format('ends[%s]', v_n);
    if (case when pg_catalog.jsonb_typeof(p_ends -> v_n) = 'object'
      then (p_ends -> v_n) - array['lease', 'results', 'failures'] <> '{}' else true end)
    then
      perform tock.refuse(422,
        v_field || ' must be an object with lease, and optionally results and failures', v_field);
    elsif coalesce(p_ends -> v_n ->> 'lease', '') !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
      perform tock.refuse(422, 'lease must be the token of a lease, as a claim returns it',
        v_field || '.lease');
    end if;
    v_lease := (p_ends -> v_n ->> 'lease')::uuid;
    v_results := nullif(p_ends -> v_n -> 'results', 'null');
    v_failures := nullif(p_ends -> v_n -> 'failures', 'null');
    if v_results is not null then
      perform tock.check_rows(v_results, v_field || '.results', array['id', 'result', 'stage', 'spawn']);
    end if;
    if v_failures is not null then
      perform tock.check_rows(v_failures, v_field || '.failures',
        array['id', 'error', 'retry_in_seconds', 'fatal']);
    end if;
    v_completed := 0;
    v_failed := 0;
    v_dead := 0;
    v_refused := '{}';
    v_lost := false;
    if v_failures is null and v_results is null then
      v_completed := tock.end_lease_current(v_lease, tock.token_segment(v_lease));
    end if;
    if v_results is not null or (v_failures is null and coalesce(v_completed, 0) < 1) then
      select c.completed, c.refused into v_completed, v_part from tock.complete(v_lease, v_results) c;
      v_lost := not found;
      v_refused := coalesce(v_part,
        case when v_results is not null then tock.parse_ids(v_results, 'results') end, '{}');
    end if;
    if v_failures is not null then
      select f.failed, f.dead, f.refused into v_failed, v_dead, v_part from tock.fail(v_lease, v_failures) f;
      v_lost := not found and coalesce(v_completed, 0) = 0;
      v_refused := v_refused || coalesce(v_part, tock.parse_ids(v_failures, 'failures'));
    end if;
    v_ended := v_ended || pg_catalog.jsonb_build_object('lease', v_lease,
      'completed', coalesce(v_completed, 0), 'failed', coalesce(v_failed, 0), 'dead', coalesce(v_dead, 0),
      'refused', pg_catalog.to_jsonb(v_refused::text[]), 'lost', v_lost);
  end loop;
  return v_ended;
end $$;
