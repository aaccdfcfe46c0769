-- Prepares a segment for its drop, about p_limit rows a call; returns 0 when it is ready. Each call does
-- one step: the data of tasks that go on, redirect_run_ids() while it has rows, then the promotions to runs
-- of the segment. Such a promotion is redirected to what that run became. It is deleted if the run has no
-- successor, and so are those that lead to it: an earlier run of the task may lead to a waiting task that
-- was promoted only after its own segment had been dropped. A promotion to a task that still waits stays.
create or replace function tock.prepare_segment_drop(p_segment integer, p_limit integer default 100000)
returns integer language plpgsql volatile as $$
declare
  v_done integer;
begin
  v_done := tock.move_out_of_segment(p_segment, p_limit);
  if v_done = 0 then
    execute pg_catalog.format('select tock.redirect_run_ids_%s($1)', p_segment) into v_done using p_limit;
  end if;
  if v_done > 0 then
    return v_done;
  end if;
  with recursive pointing as materialized (
    select p.position, n.run_id as next_id
    from tock.segments e
    join tock.promotions p on p.run_id >= tock.id_at(e.first_position, 0)
      and p.run_id < tock.id_at(e.end_position, 0)
    left join tock.promotions n on n.position = any (array[tock.position_of(p.run_id)])
    where e.number = p_segment
      and (n.position is not null or not exists (
        select from tock.waiting w where w.position = tock.position_of(p.run_id)))
    limit p_limit
  ), sent_on as (
    update tock.promotions p set run_id = f.next_id from pointing f
    where p.position = any (array[f.position]) and f.next_id is not null
  ), ended as (
    select f.position from pointing f where f.next_id is null
    union
    select p.position from ended d
    -- as in the index promotions_to_waiting
    join tock.promotions p on p.run_id = tock.id_at(d.position, 0) and p.run_id & 1048575 = 0
  ), forgotten as (
    delete from tock.promotions p using ended d where p.position = any (array[d.position])
  )
  select count(*) into v_done from pointing;
  return v_done;
end $$;
