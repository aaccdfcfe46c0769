-- A line is read from where the fourth newest mark says, about 64 pairs back, as one pair in sixteen leaves
-- one: below lie dead entries, for as long as somebody's old snapshot keeps them. Marks are read from the
-- top, where no dead ones are. Who lies below came late, or was let go: looked for when nobody is found
-- above, and by the duty. Four marks at once move the start.
create or replace function tock.line_start(p_pool text, p_line text)
returns bigint
language plpgsql
volatile
as $$
begin
  return coalesce((
    select m.reached from tock.line_marks m where m.pool = p_pool and m.line = p_line
    order by m.pool desc, m.line desc, m.number desc offset 3 limit 1), 0);
end $$;

comment on function tock.line_start is 'From which turn on a line is read.';

create or replace function tock.mark_line(
  p_pool text, p_line text, p_reached bigint, p_marks integer, p_rest_until timestamptz)
returns void
language plpgsql
volatile
as $$
begin
  insert into tock.line_marks (pool, line, number, reached, rest_until)
  select p_pool, p_line, pg_catalog.nextval('tock.place_numbers'), p_reached, p_rest_until
  from pg_catalog.generate_series(1, p_marks);
end $$;

comment on function tock.mark_line is 'Notes how far a line has come; four marks have it read from there on.';

-- Skips who is locked, so a pair in an open transaction holds up nobody.
create or replace function tock.in_line(
  p_pool text, p_line text, p_from bigint, p_below bigint, p_limit integer)
returns tock.places[]
language plpgsql
volatile
as $$
begin
  if p_line = 'free' then
    return array(
      select p::tock.places from tock.places p
      where p.pool = p_pool and p.task is null and p.turn >= p_from and p.turn < p_below
      order by p.pool, p.turn limit p_limit for update skip locked);
  end if;
  return array(
    select p::tock.places from tock.places p
    where p.pool = p_pool and p.worker is null and p.turn >= p_from and p.turn < p_below
    order by p.pool, p.turn limit p_limit for update skip locked);
end $$;

comment on function tock.in_line is 'Locks the first of a line between two turns, up to so many.';

-- A search that finds nobody, and took long, isn't repeated for twenty times as long: an open transaction's
-- dead entries then cost a twentieth of the time at most.
create or replace function tock.in_line_below(p_pool text, p_line text, p_start bigint, p_limit integer)
returns tock.places[]
language plpgsql
volatile
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_took interval;
  v_found tock.places[];
begin
  if p_start = 0 or (
    select max(m.rest_until) from (
      select k.rest_until from tock.line_marks k where k.pool = p_pool and k.line = p_line
      order by k.pool desc, k.line desc, k.number desc limit 4) m) > v_now
  then
    return '{}';
  end if;
  v_found := tock.in_line(p_pool, p_line, 0, p_start, p_limit);
  v_took := pg_catalog.clock_timestamp() - v_now;
  if v_found = '{}' and v_took > interval '2 milliseconds' then
    perform tock.mark_line(p_pool, p_line, p_start, 1, v_now + 20 * v_took);
  end if;
  return v_found;
end $$;

comment on function tock.in_line_below is
  'Locks the first of those who are below where their line is read, up to so many; none while '
  'that search rests.';

create or replace function tock.first_in_line(p_pool text, p_line text)
returns tock.places
language plpgsql
volatile
as $$
declare
  v_start bigint := tock.line_start(p_pool, p_line);
  v_found tock.places[] := tock.in_line(p_pool, p_line, v_start, 9223372036854775807, 1);
begin
  if v_found <> '{}' then
    if pg_catalog.random() < 0.0625 then
      perform tock.mark_line(p_pool, p_line, v_found[1].turn, 1, null);
    end if;
  else
    v_found := tock.in_line_below(p_pool, p_line, v_start, 1);
    if v_found <> '{}' then
      -- others may lie there, too
      perform tock.mark_line(p_pool, p_line, v_found[1].turn, 4, null);
    end if;
  end if;
  return v_found[1];
end $$;

comment on function tock.first_in_line is
  'Locks who is first in a line, the task that has waited for longest or a free worker; null when nobody is.';

-- Workers that have vanished are taken out on the way, each once.
create or replace function tock.free_worker(p_pool text)
returns tock.places
language plpgsql
volatile
as $$
declare
  v_place tock.places;
begin
  for v_step in 1 .. 1000 loop
    v_place := tock.first_in_line(p_pool, 'free');
    if v_place.number is null or v_place.leased_until > pg_catalog.clock_timestamp() then
      return v_place;
    end if;
    perform tock.let_go_from(p_pool, v_place.turn);
  end loop;
  return null;
end $$;

comment on function tock.free_worker is
  'Locks the worker that has been free for longest; null when nobody is.';

create or replace function tock.let_go_from(p_pool text, p_turn bigint)
returns void
language plpgsql
volatile
as $$
declare
  v_next bigint[] := array(
    select n.number from tock.places n where n.pool = p_pool and n.task is null and n.turn >= p_turn
    order by n.pool, n.turn limit 1000);
begin
  delete from tock.places p where p.number = any (array(
    select w.number from tock.places w
    where w.number = any (v_next) and w.task is null and w.leased_until <= pg_catalog.clock_timestamp()
    for update skip locked));
end $$;

comment on function tock.let_go_from is
  'Takes out those who have vanished among the next 1,000 in the line of free workers.';

create or replace function tock.free_workers(p_pool text, p_limit integer)
returns tock.places[]
language plpgsql
volatile
as $$
declare
  v_start bigint := tock.line_start(p_pool, 'free');
  v_free tock.places[];
  v_gone bigint;
begin
  for v_step in 1 .. 1000 loop
    v_free := tock.in_line(p_pool, 'free', v_start, 9223372036854775807, p_limit);
    if pg_catalog.cardinality(v_free) < p_limit then
      v_free := v_free || tock.in_line_below(p_pool, 'free', v_start,
        p_limit - pg_catalog.cardinality(v_free));
    end if;
    v_gone := (select min(f.turn) from unnest(v_free) f where f.leased_until <= pg_catalog.clock_timestamp());
    if v_gone is null then
      return v_free;
    end if;
    perform tock.let_go_from(p_pool, v_gone);
  end loop;
  return '{}';
end $$;

comment on function tock.free_workers is 'Locks the workers that have been free for longest, up to so many.';
