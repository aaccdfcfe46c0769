-- The first statement of every verb that ends part of a lease: the row is held against reaping and
-- closing, and what it says is read only in the next statement. A lease's rows are always locked in
-- the order of the index on token (here, in extend() and in closing), so that they can't deadlock. A lease of
-- one run is held by one call at a time: whoever ends that run closes it, so that completing needs no look
-- at results.
create or replace function tock.hold_lease(p_lease uuid, p_epoch integer)
returns boolean
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_rows integer;
begin
  execute pg_catalog.format(
    'select count(*) from (select from tock.leases_%s l where l.token = $1 for %s) h', p_epoch,
    case pg_catalog.substr(p_lease::text, 15, 1) when '8' then 'no key update' else 'share' end)
    into v_rows using p_lease;
  return v_rows > 0;
end $$;

comment on function tock.hold_lease is 'Locks a lease''s rows; false when there is no such lease.';

create or replace function tock.is_open(p_lease uuid, p_epoch integer)
returns boolean
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_open boolean;
begin
  execute pg_catalog.format('select bool_or(l.closed_at is null) from tock.leases_%s l where l.token = $1', p_epoch)
    into v_open using p_lease;
  return coalesce(v_open, false);
end $$;

comment on function tock.is_open is 'Whether something of a lease is still to be ended.';

-- Ids are tasks' or runs': a first run's id is its task's, so most are found by their key; only ids
-- left over are looked for among the lease's retried runs.
-- The materialized lease and the laterals with offset 0 are fences: with poor statistics the planner
-- would begin with all runs, or all leases, of a stream.
create or replace function tock.runs_of_lease(p_lease uuid, p_epoch integer, p_ids bigint[])
returns setof tock.leased_run
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_statement text := pg_catalog.format($q$
    with leased as materialized (select l.* from tock.leases_%1$s l where l.token = $1)
    select %%1$s as n, %%2$s as id, r.stream, r.position, s.queue, r.attempt, r.lost, r.max_attempts,
      coalesce(e.state, l.outcome), e.result, e.error, e.next_id
    from leased l
    join tock.streams s on s.number = l.stream
    %%3$s
    cross join lateral (
      select r.stream, r.position, r.task_id, r.attempt, r.lost, r.max_attempts from tock.runs_%1$s r
      where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position %%4$s
        and r.position <> all (coalesce(l.skips, '{}'))
      offset 0) r
    %%5$s
    left join lateral (
      select e.state, e.result, e.error, e.next_id from tock.results_%1$s e
      where e.stream = r.stream and e.position = r.position offset 0) e on true$q$, p_epoch);
  v_runs tock.leased_run[];
begin
  if p_ids is null then
    return query execute pg_catalog.format(v_statement,
      'r.position', 'coalesce(r.task_id, r.position << 20 | r.stream)', '', '', '') using p_lease;
    return;
  end if;
  execute 'select array(select row(q.*)::tock.leased_run from ('
    || pg_catalog.format(v_statement, 'g.n', 'g.id',
      'join unnest($2) with ordinality g(id, n) on l.stream = (g.id & 1048575)::integer',
      'and r.position = g.id >> 20', '')
    || ') q)' into v_runs using p_lease, p_ids;
  return query select * from unnest(v_runs);
  if pg_catalog.cardinality(v_runs) < pg_catalog.cardinality(p_ids) then
    return query execute pg_catalog.format(v_statement, 'g.n', 'g.id', '', 'and r.task_id is not null',
      'join unnest($2) with ordinality g(id, n) on g.id = r.task_id and g.n <> all ($3)')
      using p_lease, p_ids, array(select r.n from unnest(v_runs) r);
  end if;
end $$;

comment on function tock.runs_of_lease is
  'The runs of a lease, all or those with these ids, and how each has ended (state null: still running).';

-- Two last completers may each see the other's runs unfinished or hold the row against each other:
-- then the lease stays open and the reaper closes it.
create or replace function tock.close_lease(p_lease uuid, p_epoch integer)
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
begin
  execute pg_catalog.format($q$
    update tock.leases_%1$s l set closed_at = now(), outcome = 'done'
    from (
      select o.stream, o.after_position from tock.leases_%1$s o
      where o.token = $1 and coalesce(o.closed_at, 'infinity') = 'infinity'
        and o.runs = (
          select count(*) from tock.results_%1$s e
          where e.stream = o.stream and e.position > o.after_position and e.position <= o.last_position)
      for update skip locked) c
    where l.stream = c.stream and l.after_position = c.after_position$q$,
    p_epoch) using p_lease;
end $$;

comment on function tock.close_lease is 'Closes the rows of a lease whose runs are all accounted for.';

create or replace function tock.parse_ids(p_rows jsonb, p_field text)
returns bigint[]
language plpgsql
immutable
as $$
declare
  v_bad bigint;
  v_ids bigint[];
begin
  select min(r.n) into v_bad from pg_catalog.jsonb_array_elements(p_rows) with ordinality r(item, n)
  where not coalesce(case when pg_catalog.jsonb_typeof(r.item) = 'object'
    then (r.item ->> 'id') ~ '^\d{1,18}$' or ((r.item ->> 'id') ~ '^\d{19}$' and (r.item ->> 'id') <= '9223372036854775807') end,
    false);
  if v_bad is not null then
    perform tock.refuse(422, 'an id is a whole number as enqueue and claim gave it',
      pg_catalog.format('%s[%s].id', p_field, v_bad - 1));
  end if;
  v_ids := array(select (r.item ->> 'id')::bigint
    from pg_catalog.jsonb_array_elements(p_rows) with ordinality r(item, n) order by r.n);
  select min(d.n) into v_bad from (
    select i.n, row_number() over (partition by i.id order by i.n) as times
    from unnest(v_ids) with ordinality i(id, n)) d where d.times > 1;
  if v_bad is not null then
    perform tock.refuse(422, 'this id stands twice', pg_catalog.format('%s[%s].id', p_field, v_bad - 1));
  end if;
  return v_ids;
end $$;

comment on function tock.parse_ids is 'The ids of an array of {id, ...}; TK422 names the one that is no id or stands twice.';

create or replace function tock.check_rows(p_rows jsonb, p_field text, p_allowed text[])
returns void
language plpgsql
immutable
as $$
declare
  v_bad bigint;
begin
  if pg_catalog.jsonb_typeof(p_rows) <> 'array' or pg_catalog.jsonb_array_length(p_rows) not between 1 and 10000 then
    perform tock.refuse(422, pg_catalog.format('%s is an array of 1 to 10,000 objects', p_field), p_field);
  end if;
  select min(r.n) into v_bad from pg_catalog.jsonb_array_elements(p_rows) with ordinality r(item, n)
  where case when pg_catalog.jsonb_typeof(r.item) = 'object' then r.item - p_allowed <> '{}' else true end;
  if v_bad is not null then
    perform tock.refuse(422, pg_catalog.format('each of %s is an object of %s', p_field,
      pg_catalog.array_to_string(p_allowed, ', ')), pg_catalog.format('%s[%s]', p_field, v_bad - 1));
  end if;
  select min(r.n) into v_bad from pg_catalog.jsonb_array_elements(p_rows) with ordinality r(item, n)
  where pg_catalog.octet_length(r.item::text) > 262144 + 64;
  if v_bad is not null then
    perform tock.refuse(422, 'a result or error is up to 262144 bytes of JSON', pg_catalog.format('%s[%s].%s', p_field,
      v_bad - 1, case p_field when 'results' then 'result' else 'error' end));
  end if;
end $$;

comment on function tock.check_rows is 'Raises TK422 unless p_rows is an array of objects with these keys only, each of a bearable size.';
