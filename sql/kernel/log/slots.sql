-- The lowest free slot keeps streams few; a transaction that has one starts at its own (tock.slot is
-- only where to begin: a session may have set it to anything, so the lock is always taken).
create or replace function tock.take_slot(p_from integer default null)
returns integer
language plpgsql
volatile
as $$
declare
  v_hint text := pg_catalog.current_setting('tock.slot', true);
  v_first integer := coalesce(p_from, case when v_hint ~ '^\d{1,3}$' then v_hint::integer end, 0);
begin
  if tock.current_segment() is null then
    perform tock.guard_before_use();
    perform tock.create_next_segment();
  end if;
  for v_step in 0 .. 4095 loop
    if pg_catalog.pg_try_advisory_xact_lock(
      tock.lock_space(), 1073741824 + (v_first + v_step) % 4096)
    then
      if p_from is null then
        perform pg_catalog.set_config('tock.slot', ((v_first + v_step) % 4096)::text, true);
      end if;
      return (v_first + v_step) % 4096;
    end if;
  end loop;
  perform tock.refuse(503, 'more than 4,096 transactions are writing tasks at once',
    null, 'try again; tock doctor names who holds writers'' locks, and transactions left open');
end $$;

comment on function tock.take_slot is
  'The writer slot of this transaction, locked to its end: one writer a slot makes commit order and position '
  'order agree in each of its streams.';
