-- Appends tasks of which some have unique keys, unless an existing task with the key stands for them; returns
-- the ids in order. TK503 if an open transaction holds one of those for too long.
--
-- The row of a key in unique_keys names the task that had it last. The state of that task says whether it
-- still counts, so neither an end nor a crash has to release a key. A call that adds or changes a task
-- deletes that row and writes the next one. The second of two calls waits for the first transaction, finds no
-- row to delete, and reads again. Rows are numbered and not updated, so that the newest is found first while
-- an old transaction is open. Tasks with one key in one call are handled in rounds, one after the other. The
-- first round takes all keys that it or a later one needs, in order, before it touches any task. So two calls
-- cannot deadlock.
--
-- The call waits for open transactions that hold the row of a key or its task; for a task, up to 2 s (or the
-- lock_timeout of the caller). If on_conflict is not keep, existing tasks are changed one by one: 1,000 ready
-- ones took 5 to 14 s.
create or replace function tock.append_unique(p_queue text, p_tasks jsonb, p_policy tock.queues)
returns bigint[] language plpgsql volatile as $$
declare
  v_ids bigint[] := pg_catalog.array_fill(null::bigint, array[pg_catalog.jsonb_array_length(p_tasks)]);
  v_keyed bigint;
  v_excess bigint;
  v_changing bigint;
  v_round record;
  v_got bigint[];
begin
  perform tock.refuse_bad_tasks(p_tasks, p_policy.max_payload_bytes);
  perform tock.before_append(p_queue, p_tasks, p_policy);
  select count(*), min(c.n) filter (where c.of_call > 10000 or c.of_key > 100),
      min(c.n) filter (where c.changing > 1000)
    into v_keyed, v_excess, v_changing
  from (
    select t.n, row_number() over (order by t.n) as of_call,
      row_number() over (partition by t.task ->> 'unique_key' order by t.n) as of_key,
      count(*) filter (where t.task ->> 'on_conflict' <> 'keep') over (order by t.n) as changing
    from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t(task, n)
    where t.task ->> 'unique_key' is not null) c;
  if v_keyed > 0 and pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform tock.refuse(409,
      'tasks with a unique_key need read committed: an older snapshot does not show which task has a key',
      'unique_key',
      'begin the transaction with isolation level read committed, '
      'or enqueue these tasks in a separate one');
  elsif v_excess is not null then
    perform tock.refuse(422, 'one call accepts up to 10,000 tasks with a unique_key, up to 100 of one key',
      pg_catalog.format('tasks[%s].unique_key', v_excess - 1), 'split it into several calls');
  elsif v_changing is not null then
    perform tock.refuse(422, 'one call accepts up to 1,000 tasks with an on_conflict other than keep',
      pg_catalog.format('tasks[%s].on_conflict', v_changing - 1), 'split it into several calls');
  end if;
  for v_round in
    select r.round, pg_catalog.to_jsonb(pg_catalog.array_agg(r.task order by r.unique_key, r.n)) as tasks,
      pg_catalog.array_agg(r.n order by r.unique_key, r.n) as ns,
      pg_catalog.array_agg(r.of_key > r.round order by r.unique_key, r.n) as again
    from (
      select t.n, t.task, t.unique_key, count(*) over (partition by t.unique_key) as of_key,
        case when t.unique_key is null then 0
          else row_number() over (partition by t.unique_key order by t.n) end as round
      from (
        select t.n, t.task, (t.task ->> 'unique_key') collate "C" as unique_key
        from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t(task, n) offset 0) t) r
    group by r.round
    order by r.round = 0, r.round
  loop
    v_got := case when v_round.round = 0 then tock.append_any(p_queue, v_round.tasks, p_policy)
      else tock.append_round(p_queue, v_round.tasks, v_round.again, p_policy) end;
    for v_n in 1 .. pg_catalog.cardinality(v_got) loop
      v_ids[v_round.ns[v_n]] := v_got[v_n];
    end loop;
  end loop;
  return v_ids;
exception
  when lock_not_available then
    perform tock.refuse(503,
      'an open transaction holds one of these unique keys or its task; nothing was added',
      'unique_key', 'try again: the call succeeds once that transaction has ended');
end $$;
