-- $1 token. It is asked with the claim that took the lease, so it takes no part in finding what to claim: what a run
-- was given never changes.
create or replace function tock.told_statement(p_epoch integer)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    select coalesce(pg_catalog.jsonb_object_agg((r.position << 20 | l.stream)::text, pg_catalog.jsonb_build_object(
      'headers', r.options -> 'headers', 'push_url', r.options -> 'push_url')), '{}')
    from tock.leases_%1$s l
    cross join lateral (
      select r.position, r.options from tock.runs_%1$s r
      where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
        and r.options ?| '{headers,push_url}'
      offset 0) r
    where %2$s$q$, p_epoch, tock.lease_condition(p_epoch, false))
$$;

comment on function tock.told_statement is 'The statement that gives the headers and push_url of a lease''s runs, by their ids.';

create or replace function tock.told_of(p_lease uuid, p_epoch integer)
returns jsonb
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_told jsonb := tock.told_hot(p_lease, p_epoch);
begin
  if v_told is null then
    execute tock.told_statement(p_epoch) into v_told using p_lease;
  end if;
  return v_told;
end $$;

comment on function tock.told_of is 'The headers and push_url of a lease''s runs, by their ids, in whatever epoch.';

-- Only runs with options have anything of this, and their leases say that they are of such: nobody else reads a row,
-- nor pays for planner settings.
create or replace function tock.lease_headers(p_lease uuid)
returns jsonb
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_epoch integer;
begin
  if tock.lease_asks(p_lease) then
    v_epoch := tock.lease_epoch(p_lease);
  end if;
  return case when v_epoch is null then '{}' else tock.told_of(p_lease, v_epoch) end;
end $$;

comment on function tock.lease_headers is
  'What the runs of a lease were given beside their payloads, by their run_id: {headers, push_url}; those that have neither are left out.';
