create or replace function tock.tidy_lines()
returns void
language plpgsql
volatile
as $$
declare
  v_mark tock.line_marks;
  v_pool text := '~';
  v_line text := '';
  v_left integer := 0;
begin
  loop
    -- from the top of each, where no dead ones are
    select m.* into v_mark from tock.line_marks m where (m.pool, m.line) < (v_pool, v_line)
    order by m.pool desc, m.line desc, m.number desc limit 1;
    exit when not found;
    v_pool := v_mark.pool;
    v_line := v_mark.line;
    if v_mark.made_at < pg_catalog.now() - interval '10 minutes' and tock.is_left(v_pool) then
      delete from tock.line_marks m where m.pool = v_pool and m.line = v_line and v_left < 500;
      v_left := v_left + 1;
    else
      perform tock.move_start(v_pool, v_line);
      delete from tock.line_marks m where m.pool = v_pool and m.line = v_line and m.number < (
        select k.number from tock.line_marks k where k.pool = v_pool and k.line = v_line
        order by k.pool desc, k.line desc, k.number desc offset 3 limit 1);
    end if;
  end loop;
end $$;

comment on function tock.tidy_lines is
  'Has lines read from where they begin, keeps the four newest marks of each, and none of 500 a call whose '
  'pool everybody has left.';

create or replace function tock.is_left(p_pool text)
returns boolean
language plpgsql
volatile
as $$
begin
  return not exists (select from tock.places p where p.pool = p_pool and p.worker is not null)
    and not exists (select from tock.places p where p.pool = p_pool and p.task is not null);
end $$;

comment on function tock.is_left is 'Whether nobody is in a pool, and nothing.';

-- Down to who lies below, if nobody has it locked, and holds it itself no longer than it looks. Up to who is
-- first, where coming to that takes long, as it does where an open transaction keeps
-- what has gone from there.
create or replace function tock.move_start(p_pool text, p_line text)
returns void
language plpgsql
volatile
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_start bigint := tock.line_start(p_pool, p_line);
  v_last bigint := (select s.last_value from tock.place_numbers s);
  v_first bigint;
begin
  begin
    v_first := (tock.in_line_below(p_pool, p_line, v_start, 1))[1].turn;
    if v_first is not null then
      raise sqlstate 'TK000';
    end if;
  exception when sqlstate 'TK000' then
    perform tock.mark_line(p_pool, p_line, v_first, 4, null);
    return;
  end;
  v_now := pg_catalog.clock_timestamp();
  if p_line = 'free' then
    v_first := (select p.turn from tock.places p
      where p.pool = p_pool and p.task is null and p.turn >= v_start
      order by p.pool, p.turn limit 1);
  else
    v_first := (select p.turn from tock.places p
      where p.pool = p_pool and p.worker is null and p.turn >= v_start
      order by p.pool, p.turn limit 1);
  end if;
  if pg_catalog.clock_timestamp() - v_now > interval '2 milliseconds' then
    perform tock.mark_line(p_pool, p_line, coalesce(v_first, v_last), 4, null);
  end if;
end $$;

comment on function tock.move_start is
  'Has a line read from where it begins, where that is elsewhere than its marks say.';
