-- If the table was nearly empty when it was last analyzed, the planner takes it for empty even when thousands
-- of rows have come since. Then a whole index costs no more than ten lookups. The planner considers a whole
-- index if its order is of use, if it need not read the table, or if the index is partial. Here `offset 0`
-- makes no order useful, and the condition on bytes, which is always true, needs the table. In a join to the
-- table, `w.position = any (array[o.position])` makes no order useful.
create or replace function tock.waiting_at(p_positions bigint[])
returns setof tock.waiting language sql stable as $$
  select w.* from tock.waiting w where w.position = any (p_positions) and w.bytes >= -1 offset 0
$$;

comment on function tock.waiting_at is 'The waiting rows at these positions, looked up one by one.';
