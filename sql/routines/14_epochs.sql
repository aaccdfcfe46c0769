-- Statements on the hot path name the leaf: a generic plan through the parent locks every partition.
create or replace function tock.leaves(p_table text, p_oldest integer, p_newest integer)
returns text
language sql
immutable
as $$
  select case
    when p_newest <= p_oldest then pg_catalog.format('tock.%s_%s', p_table, p_oldest)
    when p_newest = p_oldest + 1 then pg_catalog.format(
      '(select * from tock.%1$s_%2$s union all select * from tock.%1$s_%3$s)', p_table, p_oldest, p_newest)
    else 'tock.' || p_table end
$$;

comment on function tock.leaves is
  'What to read from for the rows of some epochs: the leaf itself, two leaves, or beyond two the whole tree.';

create or replace function tock.epoch_of(p_position bigint)
returns integer
language plpgsql
stable
as $$
begin
  return (
    select e.number from tock.epochs e
    where e.first_position <= p_position order by e.first_position desc limit 1);
end $$;

comment on function tock.epoch_of is 'The number of the epoch that a position lies in.';

create or replace function tock.newest_epoch()
returns integer
language plpgsql
stable
as $$
begin
  return tock.epoch_of((select s.last_value from tock.positions s));
end $$;

comment on function tock.newest_epoch is 'The epoch that the sequence is in. Runs of a later one may be there by the time this is used: within a stream, what is read without them is a prefix.';

create or replace function tock.epoch_of_lease(p_lease uuid)
returns integer
language plpgsql
stable
as $$
begin
  return (
    select e.number from tock.epochs e
    where e.number = ('x' || pg_catalog.right(p_lease::text, 7))::bit(28)::integer);
end $$;

comment on function tock.epoch_of_lease is
  'The epoch that all rows of a lease lie in, from the token''s last 28 bits (the other 94 are random); null when it can''t be a lease.';

create or replace function tock.oldest_live_epoch()
returns integer
language plpgsql
stable
as $$
begin
  return (select e.number from tock.epochs e where e.settled_at is null order by e.number limit 1);
end $$;

comment on function tock.oldest_live_epoch is 'The first epoch that a claim may still have to read.';

-- Partitions are made as plain tables with their CHECK and then attached: that takes about 1 ms and
-- waits for no reader. When the last one was made within the hour the next is twice as wide.
create or replace function tock.rotate(p_ahead integer default 2, p_width bigint default null)
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '50ms'
as $$
declare
  v_newest tock.epochs;
  v_current integer;
  v_end bigint;
  v_table text;
  v_made integer := 0;
begin
  loop
    select e.* into v_newest from tock.epochs e order by e.number desc limit 1;
    v_current := tock.newest_epoch();
    exit when v_newest.number - v_current >= p_ahead;
    v_end := v_newest.end_position + coalesce(p_width, least(1073741824,
      (v_newest.end_position - v_newest.first_position)
        * case when v_newest.number > 3 and v_newest.made_at > pg_catalog.now() - interval '1 hour' then 2 else 1 end));
    foreach v_table in array array['runs', 'leases', 'results'] loop
      execute pg_catalog.format(
        'create table tock.%1$s_%2$s (like tock.%1$s including all,
           constraint %1$s_%2$s_epoch check (%3$s >= %4$s and %3$s < %5$s)) with (fillfactor = %6$s)',
        v_table, v_newest.number + 1,
        case v_table when 'leases' then 'after_position' else 'position' end,
        v_newest.end_position, v_end, case v_table when 'leases' then 70 else 100 end);
      execute pg_catalog.format('alter table tock.%1$s attach partition tock.%1$s_%2$s for values from (%3$s) to (%4$s)',
        v_table, v_newest.number + 1, v_newest.end_position, v_end);
    end loop;
    insert into tock.epochs (number, first_position, end_position)
      values (v_newest.number + 1, v_newest.end_position, v_end);
    v_made := v_made + 1;
  end loop;
  if tock.hot_epoch() is null then
    perform tock.write_hot();
  end if;
  return v_made;
end $$;

comment on function tock.rotate is
  'Makes epochs until p_ahead lie ahead of the one in use (p_width positions each); returns how many it made.';
