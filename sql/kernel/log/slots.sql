-- The writer slot of this transaction, locked until it ends. One writer per slot makes commit order and
-- position order agree in each stream of the slot. Taking the lowest free slot keeps the number of streams
-- small. A transaction that already has a slot starts with that one. tock.slot is only a hint, since a
-- session may set it to any value. So the call always takes the lock.
create or replace function tock.take_slot(p_from integer default null)
returns integer language plpgsql volatile as $$
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
  perform tock.refuse(503, 'more than 4,096 transactions are writing tasks at the same time',
    null, 'try again; tock doctor names the sessions with writer locks and the open transactions');
end $$;
