create or replace function tock.fail(p_lease uuid, p_failures jsonb default null)
returns table (failed integer, dead integer, refused bigint[]) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_segment integer := tock.token_segment(p_lease);
  v_all boolean := p_failures is null or pg_catalog.jsonb_typeof(p_failures) <> 'array';
  v_failures jsonb := case when v_all
    then pg_catalog.jsonb_build_array(coalesce(nullif(p_failures, 'null'), '{}'))
    else p_failures end;
  v_item jsonb := v_failures -> 0;
  v_bytes bigint := pg_catalog.octet_length((v_item -> 'error')::text);
  v_ids bigint[];
  v_good bigint[];
  v_policy tock.queues;
  v_runs tock.leased_run[];
  v_options jsonb;
  v_run tock.leased_run;
  v_one tock.ending;
  v_ended tock.ending[];
  v_before tock.ending[] := '{}';
begin
  perform tock.check_failures(v_failures, v_all);
  if not v_all then
    v_ids := tock.parse_ids(v_failures, 'failures');
  end if;
  loop
    failed := 0;
    dead := 0;
    v_good := '{}';
    v_ended := '{}';
    v_runs := tock.lock_lease_runs(p_lease, v_segment, v_ids);
    if tock.lease_has_options(p_lease) then
      v_options := tock.options_of(v_segment, v_runs);
    end if;
    foreach v_run in array v_runs loop
      if not v_all then
        v_item := v_failures -> (v_run.n - 1)::integer;
      end if;
      continue when v_run.state is not null and (v_run.state not in ('failed', 'cancelled')
        or v_run.error is distinct from nullif(v_item -> 'error', 'null'));
      failed := failed + 1;
      v_good := v_good || v_run.n;
      if v_all and failed * v_bytes > 67108864 then
        perform tock.refuse(422, 'the error, stored for each run, has over 64 MiB of JSON in all',
          'error', 'send a shorter error');
      elsif v_run.state is not null then
        dead := dead + (v_run.state = 'failed' and v_run.next_id is null)::integer;
        continue;
      elsif v_policy.name is null then
        v_policy := tock.policy(v_run.queue);
      end if;
      v_ended := v_ended || row(v_run.stream, v_run.position, 'failed', null,
        nullif(v_item -> 'error', 'null'),
        case when not coalesce((v_item ->> 'fatal')::boolean, false) then tock.next_attempt_at(
          v_policy, v_options -> v_run.position::text, v_run.attempt, v_run.lost, v_run.max_attempts,
          pg_catalog.round((v_item ->> 'retry_in_seconds')::numeric, 6)::float8) end,
        v_run.attempt + 1, v_run.lost, null, null)::tock.ending;
    end loop;
    if failed = 0 then
      return query select 0, 0, v_ids where not v_all and tock.is_open(p_lease, v_segment);
      return;
    end if;
    if not v_all then
      v_ended := tock.dedupe_outcomes(v_ended);
    end if;
    foreach v_one in array v_ended loop
      dead := dead + (v_one.again_at is null)::integer;
    end loop;
    -- a concurrent repetition of this call may have ended some of these runs: read them again
    exit when tock.end_runs(v_segment, v_ended) = pg_catalog.cardinality(v_ended);
    v_before := v_before || v_ended;
  end loop;
  perform tock.close_lease(p_lease, v_segment);
  if v_options is not null then
    perform tock.after_runs_ended(v_segment, v_before || v_ended);
  end if;
  refused := '{}';
  if failed < pg_catalog.cardinality(v_ids) then
    refused := array(select l.id from tock.unmatched_ids(v_ids, v_good) l order by l.n);
  end if;
  return next;
end $$;

comment on function tock.fail is
  'Ends runs of a lease as failed: [{id, error, retry_in_seconds | fatal}], or one object without id for '
  'all that are left. Each task is retried after its backoff. After a fatal failure or the last attempt it '
  'is dead. refused are the ids that the lease could not fail; no row if the lease has ended.';

-- Raises TK422 for invalid failures.
create or replace function tock.check_failures(p_failures jsonb, p_all boolean)
returns void language plpgsql immutable as $$
declare
  v_retry jsonb;
  v_fatal jsonb;
  v_known boolean;
begin
  perform tock.check_rows(p_failures, 'failures',
    case when p_all then array['error', 'retry_in_seconds', 'fatal']
      else array['id', 'error', 'retry_in_seconds', 'fatal'] end);
  for v_n in 0 .. pg_catalog.jsonb_array_length(p_failures) - 1 loop
    v_retry := nullif(p_failures -> v_n -> 'retry_in_seconds', 'null');
    v_fatal := nullif(p_failures -> v_n -> 'fatal', 'null');
    v_known := pg_catalog.jsonb_typeof(v_fatal) is null or pg_catalog.jsonb_typeof(v_fatal) = 'boolean';
    if not v_known or (v_retry is not null and (v_fatal = 'true'
      or case when pg_catalog.jsonb_typeof(v_retry) = 'number'
        then v_retry::numeric not between 0 and 315360000 else true end))
    then
      perform tock.refuse(422,
        'fatal must be true or false; retry_in_seconds must be a number from 0 to 315360000 and excludes '
        'fatal: true',
        pg_catalog.format(case when p_all then '%2$s' else 'failures[%1$s].%2$s' end, v_n,
          case when v_known then 'retry_in_seconds' else 'fatal' end));
    end if;
  end loop;
end $$;
