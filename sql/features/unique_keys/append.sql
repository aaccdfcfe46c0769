-- A key's row in unique_keys says which task had it last; whether that still counts follows from how the task
-- stands, so no end, death or crash has to give a key back. Whoever adds or changes something takes that row
-- away and writes the next: the second of two waits for the first's transaction, finds nothing to take away,
-- and looks again. Rows are numbered and not updated, so that under a held-open transaction the newest is
-- found first. Tasks with one key in one call go in rounds, each after the other. The first takes all keys
-- that it or a later one needs, in their order, before any task is touched: so two calls can wait for each
-- other in one direction only.
create or replace function tock.append_unique(p_queue text, p_tasks jsonb, p_policy tock.queues)
returns bigint[]
language plpgsql
volatile
as $$
declare
  v_ids bigint[] := pg_catalog.array_fill(null::bigint, array[pg_catalog.jsonb_array_length(p_tasks)]);
  v_keyed bigint;
  v_excess bigint;
  v_round record;
  v_got bigint[];
begin
  perform tock.refuse_bad_tasks(p_tasks, p_policy.max_payload_bytes);
  perform tock.check_push(p_tasks, p_policy);
  perform tock.check_after(p_tasks);
  perform tock.check_pipelines(p_queue, p_tasks);
  select count(*), min(c.n) filter (where c.of_call > 10000 or c.of_key > 100) into v_keyed, v_excess
  from (
    select t.n, row_number() over (order by t.n) as of_call,
      row_number() over (partition by t.task ->> 'unique_key' order by t.n) as of_key
    from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t(task, n)
    where t.task ->> 'unique_key' is not null) c;
  if v_keyed > 0 and pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform tock.refuse(409,
      'tasks with a unique_key have to be enqueued in read committed: an older snapshot doesn''t show who '
      'has a key',
      'unique_key',
      'begin the transaction with isolation level read committed, '
      'or enqueue these tasks in one of their own');
  elsif v_excess is not null then
    perform tock.refuse(422, 'one call takes up to 10,000 tasks with a unique_key, and up to 100 of one key',
      pg_catalog.format('tasks[%s].unique_key', v_excess - 1), 'split it into several calls');
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
end $$;

comment on function tock.append_unique is
  'Appends tasks of which some have unique keys, unless a task that has the key stands for them; '
  'returns the ids in order.';

-- Whoever has a key's row or its task in an open transaction is waited for, for up to 2 s where it is the
-- task (or as the caller's lock_timeout says). Where on_conflict is not keep, what is held is changed one by
-- one, 1,000 ready tasks in 5 to 14 s.
create or replace function tock.append_keyed(p_queue text, p_tasks jsonb, p_policy tock.queues)
returns bigint[]
language plpgsql
volatile
as $$
declare
  v_excess bigint := (
    select t.n from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t (task, n)
    where t.task ->> 'unique_key' is not null and t.task ->> 'on_conflict' <> 'keep'
    order by t.n offset 1000 limit 1);
begin
  if v_excess is not null then
    perform tock.refuse(422, 'one call takes up to 1,000 tasks whose on_conflict is not keep',
      pg_catalog.format('tasks[%s].on_conflict', v_excess - 1), 'split it into several calls');
  end if;
  return tock.append_unique(p_queue, p_tasks, p_policy);
exception
  when lock_not_available then
    perform tock.refuse(503,
      'a task that has one of these unique keys, or the key, is held by a transaction that is still open; '
      'nothing was added',
      'unique_key', 'try again: it goes through as soon as that transaction has ended');
end $$;

comment on function tock.append_keyed is
  'append_unique() for up to 1,000 tasks that may change others; TK503 when somebody holds one of those '
  'for longer than is waited.';
