create or replace function tock.fail(p_lease uuid, p_failures jsonb default null)
returns table (failed integer, dead integer, refused bigint[])
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  v_epoch integer := tock.lease_epoch(p_lease);
  v_all boolean := p_failures is null or pg_catalog.jsonb_typeof(p_failures) <> 'array';
  v_given jsonb := case when v_all then pg_catalog.jsonb_build_array(coalesce(nullif(p_failures, 'null'), '{}'))
    else p_failures end;
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_ids bigint[];
  v_mine tock.leased_run[];
  v_ended tock.ended[];
  v_dead integer;
begin
  perform tock.check_failures(v_given, v_all);
  if not v_all then
    v_ids := tock.parse_ids(v_given, 'failures');
  end if;
  if v_epoch is null or not tock.hold_lease(p_lease, v_epoch) then
    return;
  end if;
  loop
    v_mine := array(select r from tock.runs_of_lease(p_lease, v_epoch, v_ids) r
      where r.state is null or (r.state in ('failed', 'cancelled') and r.error is not distinct from
        nullif(v_given -> (case when v_all then 0 else r.n - 1 end)::integer -> 'error', 'null')));
    if pg_catalog.cardinality(v_mine) = 0 then
      return query select 0, 0, v_ids where not v_all and tock.is_open(p_lease, v_epoch);
      return;
    end if;
    if v_all and pg_catalog.cardinality(v_mine)::bigint * pg_catalog.octet_length((v_given -> 0 -> 'error')::text) > 67108864 then
      perform tock.refuse(422, 'an error is written once for each run, 64 MiB of JSON in all', 'error', 'send a shorter error');
    end if;
    v_ended := array(
      select distinct on (r.stream, r.position) row(r.stream, r.position, 'failed', null,
        nullif(f.item -> 'error', 'null'),
        case when not coalesce((f.item ->> 'fatal')::boolean, false)
            and r.attempt - r.lost < coalesce(r.max_attempts, p.max_attempts)
          then v_now + interval '1 second' * coalesce(
            pg_catalog.round((f.item ->> 'retry_in_seconds')::numeric, 6)::float8,
            tock.backoff_seconds(p, r.attempt - r.lost)) end,
        r.attempt + 1, r.lost)::tock.ended
      from unnest(v_mine) r
      cross join lateral (select v_given -> (case when v_all then 0 else r.n - 1 end)::integer as item) f
      cross join lateral tock.policy(r.queue) p
      where r.state is null);
    -- the same call, made again before it was answered, may have ended some meanwhile: look again
    exit when tock.end_runs(v_epoch, v_ended) = pg_catalog.cardinality(v_ended);
  end loop;
  perform tock.close_lease(p_lease, v_epoch);
  select (select count(*) from unnest(v_ended) e where e.again_at is null)
    + (select count(*) from unnest(v_mine) r where r.state = 'failed' and r.next_id is null) into v_dead;
  return query select pg_catalog.cardinality(v_mine), v_dead,
    array(select i.id from unnest(v_ids) with ordinality i(id, n)
      where i.n <> all (array(select r.n from unnest(v_mine) r)) order by i.n);
end $$;

comment on function tock.fail is
  'Ends runs of a lease as failed: [{id, error, retry_in_seconds | fatal}], or one object without id for all that are left. Each is tried again after its backoff unless it is fatal or was the last attempt: then its task is dead. Ids that were not this lease''s to fail are refused; no row when it is over.';

create or replace function tock.check_failures(p_failures jsonb, p_all boolean)
returns void
language plpgsql
immutable
as $$
declare
  v_bad record;
begin
  perform tock.check_rows(p_failures, 'failures',
    case when p_all then array['error', 'retry_in_seconds', 'fatal']
      else array['id', 'error', 'retry_in_seconds', 'fatal'] end);
  select f.n, f.item into v_bad from pg_catalog.jsonb_array_elements(p_failures) with ordinality f(item, n)
  where case pg_catalog.jsonb_typeof(f.item -> 'retry_in_seconds')
      when 'number' then (f.item ->> 'retry_in_seconds')::numeric not between 0 and 315360000
      else coalesce(f.item -> 'retry_in_seconds', 'null') <> 'null' end
    or pg_catalog.jsonb_typeof(coalesce(f.item -> 'fatal', 'false')) not in ('boolean', 'null')
    or (f.item ->> 'fatal' = 'true' and f.item ->> 'retry_in_seconds' is not null)
  order by f.n limit 1;
  if found then
    perform tock.refuse(422, 'a failure is either fatal (true) or has retry_in_seconds, a number from 0 to 315360000',
      pg_catalog.format(case when p_all then '%2$s' else 'failures[%1$s].%2$s' end, v_bad.n - 1,
        case when pg_catalog.jsonb_typeof(coalesce(v_bad.item -> 'fatal', 'false')) in ('boolean', 'null')
          then 'retry_in_seconds' else 'fatal' end));
  end if;
end $$;

comment on function tock.check_failures is 'Raises TK422 for failures that are not as they should be.';
