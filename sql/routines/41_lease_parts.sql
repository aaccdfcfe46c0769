-- Held against reaping and closing. A lease's rows are always locked in the order of the index on token (here,
-- in extend() and in closing), so that they can't deadlock. A lease of one run is held by one call at a time:
-- whoever ends that run closes it, so that completing needs no look at results. $1 token
create or replace function tock.hold_statement(p_epoch integer, p_one boolean)
returns text
language sql
stable
as $$
  select pg_catalog.format('select count(*) from (select from tock.leases_%s l where %s for %s) h', p_epoch,
    tock.lease_condition(p_epoch, p_one), case when p_one then 'no key update' else 'share' end)
$$;

comment on function tock.hold_statement is 'The statement that locks a lease''s rows and counts them; p_one says that it is of one run.';

-- Rows are said so that a plan made for any number of ids is right for many.
create or replace function tock.ids_left(p_ids bigint[], p_found bigint[], out id bigint, out n bigint)
returns setof record
language plpgsql
immutable
rows 1000
as $$
begin
  return query
    select i.id, i.n from unnest(p_ids) with ordinality i(id, n)
    except select p_ids[f.n], f.n from unnest(p_found) f(n);
end $$;

comment on function tock.ids_left is 'Ids and their places, but for the places in p_found.';

-- Ids are tasks' or runs': a first run's id is its task's, so most are found by their key; only ids
-- left over are looked for among the lease's retried runs.
-- The materialized lease and the laterals with offset 0 are fences: with poor statistics the planner
-- would begin with all runs, or all leases, of a stream. $1 token, $2 ids, $3 which of them are left
create or replace function tock.runs_statement(p_epoch integer, p_by text)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    with leased as materialized (%6$s)
    select array(
      select row(%2$s, r.stream, r.position, s.queue, r.attempt, r.lost, r.max_attempts, coalesce(e.state, l.outcome),
        e.result, e.error, e.next_id)::tock.leased_run
      from leased l
      join tock.streams s on s.number = l.stream
      %3$s
      cross join lateral (
        select r.stream, r.position, r.task_id, r.attempt, r.lost, r.max_attempts from tock.runs_%1$s r
        where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position %4$s
          and r.position <> all (coalesce(l.skips, '{}'))
        offset 0) r
      %5$s
      left join lateral (
        select e.state, e.result, e.error, e.next_id from tock.results_%1$s e
        where e.stream = r.stream and e.position = r.position offset 0) e on true)$q$, p_epoch,
    case when p_by = 'lease' then 'r.position, coalesce(r.task_id, r.position << 20 | r.stream)' else 'g.n, g.id' end,
    case p_by when 'run' then 'join unnest($2) with ordinality g(id, n) on l.stream = (g.id & 1048575)::integer' end,
    case p_by when 'run' then 'and r.position = g.id >> 20' when 'task' then 'and r.task_id is not null' end,
    case p_by when 'task' then 'join tock.ids_left($2, $3) g on g.id = r.task_id' end, tock.lease_rows(p_epoch))
$$;

comment on function tock.runs_statement is
  'The statement that reads the runs of a lease: all (p_by lease), by their own ids (run), or those of retried tasks (task).';

create or replace function tock.token_epoch(p_lease uuid)
returns integer
language sql
immutable
as $$
  select ('x' || pg_catalog.right(p_lease::text, 7))::bit(28)::integer
$$;

comment on function tock.token_epoch is 'The epoch that a lease''s token names; lease_epoch() says whether there is one.';

-- The first statements of every verb that ends part of a lease: its rows are held against reaping and
-- closing, and what they say is read only in the next statement.
create or replace function tock.hold_runs(p_lease uuid, p_epoch integer, p_ids bigint[])
returns tock.leased_run[]
language plpgsql
volatile
as $$
declare
  v_runs tock.leased_run[] := tock.hold_runs_hot(p_lease, p_epoch, p_ids);
  v_more tock.leased_run[];
  v_rows integer;
begin
  if v_runs is not null then
    return v_runs;
  end if;
  if p_epoch is null or tock.lease_epoch(p_lease) is distinct from p_epoch then
    return '{}';
  end if;
  execute tock.hold_statement(p_epoch, tock.is_of_one(p_lease)) into v_rows using p_lease;
  if v_rows = 0 then
    return '{}';
  end if;
  execute tock.runs_statement(p_epoch, case when p_ids is null then 'lease' else 'run' end) into v_runs using p_lease, p_ids;
  if pg_catalog.cardinality(v_runs) < pg_catalog.cardinality(p_ids) then
    execute tock.runs_statement(p_epoch, 'task') into v_more
      using p_lease, p_ids, array(select r.n from unnest(v_runs) r);
    v_runs := v_runs || v_more;
  end if;
  return v_runs;
end $$;

comment on function tock.hold_runs is
  'Locks a lease''s rows and reads its runs, all or those with these ids, and how each has ended (state null: still running); none when there is no such lease.';

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
  if p_epoch is null or tock.lease_epoch(p_lease) is distinct from p_epoch then
    return false;
  end if;
  execute pg_catalog.format('select bool_or(l.closed_at is null) from tock.leases_%s l where %s', p_epoch,
    tock.lease_condition(p_epoch, tock.is_of_one(p_lease))) into v_open using p_lease;
  return coalesce(v_open, false);
end $$;

comment on function tock.is_open is 'Whether something of a lease is still to be ended.';

-- $1 token
create or replace function tock.close_ended_statement(p_epoch integer, p_one boolean)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    update tock.leases_%1$s l set closed_at = now(), outcome = 'done'
    from (
      select l.stream, l.after_position from tock.leases_%1$s l
      where %2$s and coalesce(l.closed_at, 'infinity') = 'infinity'
        and l.runs = (
          select count(*) from tock.results_%1$s e
          where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position)
      for update skip locked) c
    where l.stream = c.stream and l.after_position = c.after_position$q$, p_epoch, tock.lease_condition(p_epoch, p_one))
$$;

comment on function tock.close_ended_statement is 'The statement that closes the rows of a lease whose runs are all accounted for; p_one as is_of_one() says.';

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
  if tock.close_ended_hot(p_lease, p_epoch) is null then
    execute tock.close_ended_statement(p_epoch, tock.is_of_one(p_lease)) using p_lease;
  end if;
end $$;

comment on function tock.close_lease is 'Closes the rows of a lease whose runs are all accounted for.';

create or replace function tock.each_once(p_ended tock.ending[])
returns tock.ending[]
language plpgsql
immutable
as $$
begin
  if pg_catalog.cardinality(p_ended) < 2 then
    return p_ended;
  end if;
  return array(
    select distinct on (e.stream, e.position)
      row(e.stream, e.position, e.state, e.result, e.error, e.again_at, e.attempt, e.lost, e.queue, e.payload)::tock.ending
    from unnest(p_ended) with ordinality
      e(stream, position, state, result, error, again_at, attempt, lost, queue, payload, n)
    order by e.stream, e.position, e.n);
end $$;

comment on function tock.each_once is 'What ended, without repeats: a retried run goes by its own id and by its task''s, and what was said of the first of them stands.';

create or replace function tock.parse_ids(p_rows jsonb, p_field text)
returns bigint[]
language plpgsql
immutable
as $$
declare
  v_id text;
  v_ids bigint[] := '{}';
  v_bad bigint;
begin
  for v_n in 0 .. pg_catalog.jsonb_array_length(p_rows) - 1 loop
    v_id := p_rows -> v_n ->> 'id';
    if v_id ~ '^\d{1,18}$' or (v_id ~ '^\d{19}$' and v_id <= '9223372036854775807') then
      v_ids := v_ids || v_id::bigint;
    else
      perform tock.refuse(422, 'an id is a whole number as enqueue and claim gave it',
        pg_catalog.format('%s[%s].id', p_field, v_n));
    end if;
  end loop;
  if pg_catalog.cardinality(v_ids) > 1 then
    select min(d.n) into v_bad from (
      select i.n, row_number() over (partition by i.id order by i.n) as times
      from unnest(v_ids) with ordinality i(id, n)) d where d.times > 1;
    if v_bad is not null then
      perform tock.refuse(422, 'this id stands twice', pg_catalog.format('%s[%s].id', p_field, v_bad - 1));
    end if;
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
  v_large integer;
begin
  if pg_catalog.jsonb_typeof(p_rows) <> 'array' or pg_catalog.jsonb_array_length(p_rows) not between 1 and 10000 then
    perform tock.refuse(422, pg_catalog.format('%s is an array of 1 to 10,000 objects', p_field), p_field);
  end if;
  for v_n in 0 .. pg_catalog.jsonb_array_length(p_rows) - 1 loop
    if (case when pg_catalog.jsonb_typeof(p_rows -> v_n) = 'object' then (p_rows -> v_n) - p_allowed <> '{}' else true end) then
      perform tock.refuse(422, pg_catalog.format('each of %s is an object of %s', p_field,
        pg_catalog.array_to_string(p_allowed, ', ')), pg_catalog.format('%s[%s]', p_field, v_n));
    elsif pg_catalog.octet_length((p_rows -> v_n)::text) > 262144 + 64
      and pg_catalog.octet_length(((p_rows -> v_n) - '{stage,spawn}'::text[])::text) > 262144 + 64
    then
      v_large := coalesce(v_large, v_n);
    end if;
  end loop;
  if v_large is not null then
    perform tock.refuse(422, 'a result or error is up to 262144 bytes of JSON', pg_catalog.format('%s[%s].%s', p_field,
      v_large, case p_field when 'results' then 'result' else 'error' end));
  end if;
end $$;

comment on function tock.check_rows is 'Raises TK422 unless p_rows is an array of objects with these keys only, each of a bearable size.';
