-- Locks the rows of a lease and reads its runs, all or those with these ids, with their states (null: still
-- running); none if there is no such lease. p_exclusive locks them against every other call that ends runs.
-- What the verbs that end part of a lease share: locking its rows, closing them (close_lease()) and checking
-- the input. lock_lease_runs() comes first. It locks the rows against reaping and closing, and then reads
-- them in a new statement.
create or replace function tock.lock_lease_runs(
  p_lease uuid, p_segment integer, p_ids bigint[], p_exclusive boolean default false)
returns tock.leased_run[] language plpgsql volatile as $$
declare
  v_runs tock.leased_run[] := tock.lock_lease_runs_current(p_lease, p_segment, p_ids, p_exclusive);
begin
  if v_runs is not null then
    return v_runs;
  end if;
  if p_segment is null or tock.lease_segment(p_lease) is distinct from p_segment then
    return '{}';
  end if;
  execute pg_catalog.format('select tock.lock_lease_runs_%s($1, $2, $3, $4)', p_segment) into v_runs
    using p_lease, p_segment, p_ids, p_exclusive;
  return v_runs;
end $$;

-- True if a lease has runs that have not ended.
create or replace function tock.is_open(p_lease uuid, p_segment integer)
returns boolean language plpgsql volatile as $$
declare
  v_open boolean;
begin
  if p_segment is null or tock.lease_segment(p_lease) is distinct from p_segment then
    return false;
  end if;
  execute pg_catalog.format('select bool_or(l.closed_at is null) from tock.lease_rows_%s($1) l', p_segment)
    into v_open using p_lease;
  return coalesce(v_open, false);
end $$;

-- Closes the rows of a lease whose runs have all ended. Two calls that complete the last runs at the same
-- time may not see each other's results, or may find the row locked. The lease then stays open until the
-- reaper closes it.
create or replace function tock.close_lease(p_lease uuid, p_segment integer)
returns void language plpgsql volatile
set enable_hashjoin = off
set enable_mergejoin = off as $$
begin
  if tock.close_ended_current(p_lease, p_segment) is null then
    execute pg_catalog.format('select tock.close_ended_%s($1, $2)', p_segment) using p_lease, p_segment;
  end if;
end $$;

-- Outcomes without repetitions: a retried run may be named by its own id and by the id of its task, and the
-- first outcome counts.
create or replace function tock.dedupe_outcomes(p_ended tock.ending[])
returns tock.ending[] language plpgsql immutable as $$
begin
  if pg_catalog.cardinality(p_ended) < 2 then
    return p_ended;
  end if;
  return array(
    select distinct on (e.stream, e.position)
      row(e.stream, e.position, e.state, e.result, e.error, e.again_at, e.attempt, e.lost, e.queue,
        e.payload)::tock.ending
    from unnest(p_ended) with ordinality
      e(stream, position, state, result, error, again_at, attempt, lost, queue, payload, n)
    order by e.stream, e.position, e.n);
end $$;

-- Raises TK422 unless p_rows is an array of objects with only these keys and within the size limits.
create or replace function tock.check_rows(p_rows jsonb, p_field text, p_allowed text[])
returns void language plpgsql immutable as $$
declare
  v_large integer;
begin
  if pg_catalog.jsonb_typeof(p_rows) <> 'array'
    or pg_catalog.jsonb_array_length(p_rows) not between 1 and 10000
  then
    perform tock.refuse(422, pg_catalog.format('%s must be an array of 1 to 10,000 objects', p_field),
      p_field);
  end if;
  for v_n in 0 .. pg_catalog.jsonb_array_length(p_rows) - 1 loop
    if (case when pg_catalog.jsonb_typeof(p_rows -> v_n) = 'object'
      then (p_rows -> v_n) - p_allowed <> '{}' else true end)
    then
      perform tock.refuse(422, pg_catalog.format(
        '%s[%s] must be an object with these fields and no others: %s', p_field, v_n,
        pg_catalog.array_to_string(p_allowed, ', ')), pg_catalog.format('%s[%s]', p_field, v_n));
    elsif pg_catalog.octet_length((p_rows -> v_n)::text) > 262144 + 64
      and pg_catalog.octet_length(((p_rows -> v_n) - '{stage,spawn,name}'::text[])::text) > 262144 + 64
    then
      v_large := coalesce(v_large, v_n);
    end if;
  end loop;
  if v_large is not null then
    perform tock.refuse(422, 'a result or error may have up to 262,144 bytes of JSON',
      pg_catalog.format('%s[%s].%s', p_field, v_large, case when p_rows -> v_large ? 'result' then 'result'
        else 'error' end), 'store large data elsewhere and send its address');
  end if;
end $$;

create or replace function tock.queue_of_lease(p_lease uuid)
returns text language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_segment integer := tock.lease_segment(p_lease);
  v_queue text;
begin
  if v_segment is not null then
    execute pg_catalog.format('select s.queue from tock.streams s where s.number = '
      '(select l.stream from tock.lease_rows_%s($1) l limit 1)', v_segment) into v_queue using p_lease;
  end if;
  return v_queue;
end $$;

comment on function tock.queue_of_lease is
  'The queue from which a lease was claimed; null if there is no such lease.';
