create or replace function tock.check_sequence(p_taken bigint)
returns void
language plpgsql
volatile
as $$
begin
  if p_taken > (select s.last_value from tock.positions s)
    or (pg_catalog.pg_sequence_parameters('tock.positions'::regclass)).cache_size <> 1
  then
    perform tock.refuse(503,
      pg_catalog.format('the sequence tock.positions is behind what is stored (%s), or cached', p_taken),
      null,
      'the maintenance_job guard mends it within a minute, or now: select tock.run_maintenance(''guard'')');
  end if;
end $$;

comment on function tock.check_sequence is
  'TK503 when the next position may not be above p_taken: the sequence was set back, or sessions keep some '
  'of it.';

-- Ids of what waits are positions without a stream. Those promoted stay known, append-only.
create or replace function tock.check_waiting_ids()
returns void
language plpgsql
volatile
as $$
begin
  perform tock.check_sequence(
    coalesce((select p.position from tock.promotions p order by p.position desc limit 1), 0));
end $$;

comment on function tock.check_waiting_ids is
  'TK503 when an id for a waiting entry might be given out twice.';

-- Asked once they are stored: the sequence may have been set back and have come up again since it was looked
-- at. What still waits refuses the id by its key, and what was promoted had been committed by then. Nearly
-- always the newest that was promoted is below, and nothing more is read. The next attempts of tasks aren't
-- asked about: there such a position is no task's id, but what is told
-- of the task whose id it was would be another's.
create or replace function tock.check_new_ids(p_ids bigint[])
returns void
language plpgsql
volatile
as $$
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
        pg_catalog.format('the sequence tock.positions gave out %s once more', v_taken), null,
        'the maintenance_job guard mends it within a minute, or now: select tock.run_maintenance(''guard'')');
    end if;
  end if;
end $$;

comment on function tock.check_new_ids is
  'TK503 when an id that was just given to a waiting entry is another task''s.';
