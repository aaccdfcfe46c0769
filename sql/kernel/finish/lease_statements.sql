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

-- not 'closed_at is null': that lets the planner walk the open leases, dead entries and all
create or replace function tock.close_statement(p_epoch integer, p_one boolean)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    with closed as (
      update tock.leases_%1$s l set closed_at = now(), outcome = 'done'
      where %2$s and coalesce(l.closed_at, 'infinity') = 'infinity'
      returning l.runs)
    select sum(c.runs)::integer from closed c$q$, p_epoch, tock.lease_condition(p_epoch, p_one))
$$;

comment on function tock.close_statement is
  'The statement that closes a whole lease as done; $1 token, p_one as is_of_one() says; gives its runs, null when it was closed or never there.';

-- Asked after the lease was closed: closing may have waited for a part that failed meanwhile, and other
-- rows of the lease may have been closed before.
create or replace function tock.done_statement(p_epoch integer)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    with leased as materialized (select d.* from (%2$s) d where d.outcome = 'done')
    select coalesce(sum(l.runs - x.exceptions), 0)::integer from leased l
    cross join lateral (
      select count(*) as exceptions from tock.results_%1$s e
      where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position
        and e.state <> 'done' and e.position <> all (coalesce(l.skips, '{}'))) x$q$, p_epoch, tock.lease_rows(p_epoch))
$$;

comment on function tock.done_statement is 'The statement that counts the runs of a closed lease that are done; $1 token.';

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
