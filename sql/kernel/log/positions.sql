-- Raises TK503 if the next position may not be above p_taken: the sequence was set back, or has a cache.
create or replace function tock.check_sequence(p_taken bigint)
returns void language plpgsql volatile as $$
begin
  if p_taken > (select s.last_value from tock.positions s)
    or (pg_catalog.pg_sequence_parameters('tock.positions'::regclass)).cache_size <> 1
  then
    perform tock.refuse(503,
      pg_catalog.format('the sequence tock.positions is behind the stored position %s, or has a cache',
        p_taken), null,
      'the guard job repairs it within a minute, or now: select tock.run_maintenance(''guard'')');
  end if;
end $$;

-- Raises TK503 if a waiting task could get an id that is already in use. The id of a task that starts out
-- waiting is a position without a stream. tock.promotions keeps these positions after the promotion; rows are
-- only added.
create or replace function tock.check_waiting_ids()
returns void language plpgsql volatile as $$
begin
  perform tock.check_sequence(
    coalesce((select p.position from tock.promotions p order by p.position desc limit 1), 0));
end $$;

-- Raises TK503 if a new id of a waiting task belongs to another task. Called after the ids are stored. Since
-- check_waiting_ids() the sequence may have been set back and grown again. If a task with such an id still
-- waits, the insert into waiting fails; if it is being promoted, the insert waits. So only committed
-- promotions are left to check. Usually the newest one is below all new ids, and nothing more is read. Next
-- attempts need no check: their positions are not task ids.
create or replace function tock.check_new_ids(p_ids bigint[])
returns void language plpgsql volatile as $$
declare
  v_least bigint := (select min(tock.position_of(i)) from unnest(p_ids) i where tock.stream_of(i) = 0);
  v_taken bigint;
begin
  if v_least <= (select p.position from tock.promotions p order by p.position desc limit 1) then
    v_taken := (
      select min(tock.position_of(i)) from unnest(p_ids) i
      where tock.stream_of(i) = 0 and (select p.position from tock.promotions p
        where p.position = tock.position_of(i)) is not null);
    if v_taken is not null then
      perform tock.refuse(503,
        pg_catalog.format('the sequence tock.positions assigned position %s twice', v_taken), null,
        'the guard job repairs it within a minute, or now: select tock.run_maintenance(''guard'')');
    end if;
  end if;
end $$;
