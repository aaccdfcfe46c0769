-- Raises TK422 for the first task that is enqueued into a queue outside its pipeline, or for a stage on
-- another node.
create or replace function tock.check_pipelines(p_queue text, p_tasks jsonb)
returns void language plpgsql stable as $$
declare
  v_n bigint;
begin
  if not pg_catalog.jsonb_path_exists(p_tasks, '$[*].pipeline') then
    return;
  end if;
  select t.n - 1 into v_n from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t (task, n)
  where t.task ->> 'pipeline' is not null and not t.task -> 'pipeline' ? p_queue order by t.n limit 1;
  if v_n is not null then
    perform tock.refuse(422, pg_catalog.format('queue %s is not a stage of this pipeline', p_queue),
      pg_catalog.format('tasks[%s].pipeline', v_n), 'enqueue into the stage where the task is to start');
  elsif pg_catalog.jsonb_path_exists(p_tasks, '$[*].pipeline[*] ? (@ == "tock-webhooks")') then
    perform tock.check_not_webhooks('tock-webhooks', 'pipeline');
  end if;
  if pg_catalog.to_regnamespace('tock_nodes') is not null then
    perform tock.check_queue(s.stage #>> '{}', 'pipeline', 422)
    from (
      select distinct p.stage
      from pg_catalog.jsonb_path_query(p_tasks, '$[*].pipeline[*] ? (@ != null)') p (stage)) s;
  end if;
end $$;
