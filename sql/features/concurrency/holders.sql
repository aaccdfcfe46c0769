-- True if a cancelled or expired run or waiting task is certain never to start; false also if that cannot be
-- decided now. A claim that has not committed yet may have the cancelled or expired run. So the answer needs
-- a lease that has skipped the run, or the lock of its stream, which only a short transaction may take
-- (p_lock). For a waiting task, the row lock shows that no promotion is making it a run at this moment.
create or replace function tock.will_not_start(p_id bigint, p_lock boolean)
returns boolean language plpgsql volatile as $$
declare
  v_stream integer := tock.stream_of(p_id);
  v_segment integer := tock.segment_of(tock.position_of(p_id));
  v_locked boolean := false;
  v_running boolean;
begin
  if v_stream = 0 then
    perform from tock.waiting w where w.position = tock.position_of(p_id) for update skip locked;
    return found;
  elsif v_segment is null then
    return true;
  end if;
  loop
    execute pg_catalog.format($q$
      select l.runs > 0 and $2 <> all (coalesce(l.skips, '{}'))
        and (select e.position from tock.results_%1$s e where e.stream = $1 and e.position = $2) is null
      from (
        select c.* from tock.leases_%1$s c where c.stream = $1 and c.after_position < $2
        order by c.stream desc, c.after_position desc limit 1) l
      where l.last_position >= $2$q$, v_segment)
      into v_running using v_stream, tock.position_of(p_id);
    if v_running is not null or v_locked then
      return coalesce(not v_running, true);
    elsif not (p_lock and tock.take_stream(v_stream)
      and pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), -1 - v_stream))
    then
      return false;
    end if;
    v_locked := true;
  end loop;
end $$;

-- The admitted tasks that still hold a concurrency key, and the waiting rows of those whose next attempt is
-- due. The state of each admitted task says whether it still holds the key. back has the holders that failed,
-- kept their admission and are due again. A task that was postponed has given up its admission.
create or replace function tock.current_holders(
  p_queue text, p_keep boolean, p_states tock.resolved_task[], p_lock boolean, out holders bigint[],
  out back bigint[])
language plpgsql volatile as $$
declare
  v_at tock.resolved_task;
  v_waits record;
  v_ids bigint[] := '{}';
  v_dues timestamptz[] := '{}';
begin
  holders := '{}';
  back := '{}';
  foreach v_at in array p_states loop
    continue when v_at.queue is distinct from p_queue or v_at.state in ('done', 'dead')
      or v_at.task_id = any (holders);
    if v_at.state in ('cancelled', 'expired') then
      continue when tock.will_not_start(v_at.current_id, p_lock);
    elsif v_at.state = 'waiting' then
      select w.due_at, w.due_after_parents,
        -- a task that sleeps says itself whether it keeps its key; one that waited for its children has not
        -- failed
        case when w.options ->> 'suspended' = w.position::text then w.options ? 'keeps_key'
          else p_keep or (w.options ? 'resume' and w.attempt = 1) end as keeps into v_waits
      from tock.waiting w where w.position = tock.position_of(v_at.current_id);
      if not v_waits.keeps then
        continue;
      elsif v_waits.due_at = 'infinity' and v_waits.due_after_parents is null then
        back := back || tock.position_of(v_at.current_id);
      else
        v_ids := v_ids || v_at.task_id;
        v_dues := v_dues || v_waits.due_at;
      end if;
    end if;
    holders := holders || v_at.task_id;
  end loop;
  if pg_catalog.cardinality(v_ids) > 0 then
    -- due at a time that a change set, not at the end of its backoff: the task was postponed
    holders := array(
      select i.id from unnest(holders) with ordinality i (id, n)
      where i.id <> all (array(
        select w.id from unnest(tock.pending_changes(v_ids)) w
        join unnest(v_ids, v_dues) d (id, due_at) on d.id = w.id
        where (w.changes ->> 'run_at')::timestamptz = d.due_at))
      order by i.n);
  end if;
end $$;
