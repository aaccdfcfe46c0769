-- The rows l of a lease, as each of the two kinds is found. Of an epoch that was dropped just now there are none: its
-- tables are missed by whoever runs the statement. $1 token
create or replace function tock.lease_condition(p_epoch integer, p_one boolean)
returns text
language sql
stable
as $$
  select case when p_one then pg_catalog.format(
    'l.stream = tock.token_stream($1) and l.after_position = tock.token_cursor($1, %s) and l.token = $1',
    coalesce((select e.first_position from tock.epochs e where e.number = p_epoch), 0))
  else 'l.token = $1 and l.alone is null' end
$$;

comment on function tock.lease_condition is 'The condition for the rows l of a lease of an epoch; p_one as is_of_one() says.';

create or replace function tock.lease_rows(p_epoch integer)
returns text
language sql
stable
as $$
  select pg_catalog.format('select l.* from tock.leases_%1$s l where %2$s and not tock.is_of_one($1)
      union all select l.* from tock.leases_%1$s l where %3$s and tock.is_of_one($1)',
    p_epoch, tock.lease_condition(p_epoch, false), tock.lease_condition(p_epoch, true))
$$;

comment on function tock.lease_rows is 'The statement that reads a lease''s rows, whichever kind it is; $1 token.';

create or replace function tock.leased_runs(p_lease uuid)
returns table (
  lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer, max_attempts integer,
  priority integer, tenant text, created_at timestamptz, payload jsonb)
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_epoch integer := tock.lease_epoch(p_lease);
begin
  if v_epoch is not null then
    return query execute pg_catalog.format($q$
      with leased as materialized (
        select l.* from tock.leases_%1$s l
        where %2$s and l.closed_at is null and l.leased_until > pg_catalog.clock_timestamp())
      select l.token, l.leased_until, coalesce(r.task_id, r.position << 20 | r.stream), r.position << 20 | r.stream,
        r.attempt::integer, coalesce(r.max_attempts, (tock.policy(s.queue)).max_attempts)::integer,
        s.priority::integer, r.tenant, r.created_at, r.payload
      from leased l
      join tock.streams s on s.number = l.stream
      cross join lateral (
        select r.* from tock.runs_%1$s r
        where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
          and r.position <> all (coalesce(l.skips, '{}'))
        offset 0) r
      where (select e.position from tock.results_%1$s e where e.stream = r.stream and e.position = r.position) is null
      order by s.priority, r.position$q$, v_epoch, tock.lease_condition(v_epoch, tock.is_of_one(p_lease))) using p_lease;
  end if;
end $$;

comment on function tock.leased_runs is 'The runs of an open lease that have not ended, as its claim returned them; none when its time is up.';
