-- Raises TK422 for an invalid push setting of a queue.
create or replace function tock.check_push_policy(p_queue text, p_push jsonb)
returns void language plpgsql immutable as $$
declare
  v_seconds jsonb := coalesce(p_push -> 'timeout_seconds', 'null');
  v_key text;
begin
  if coalesce(p_push, 'null') = 'null' then
    return;
  elsif p_queue = '*' then
    perform tock.refuse(422, 'the default policy cannot have push: all new queues would have it', 'push',
      'set push for a queue by its name');
  elsif pg_catalog.jsonb_typeof(p_push) <> 'object' then
    perform tock.refuse(422, 'push must be an object with url and timeout_seconds, both optional, or null',
      'push');
  end if;
  select k into v_key from pg_catalog.jsonb_object_keys(p_push) k where k not in ('url', 'timeout_seconds')
  order by k limit 1;
  if found then
    perform tock.refuse(422, 'push has no ' || v_key || '; it has url and timeout_seconds', 'push.' || v_key);
  elsif nullif(p_push -> 'url', 'null') is not null and tock.url_error(p_push -> 'url') is not null then
    perform tock.refuse(422, 'url ' || tock.url_error(p_push -> 'url'), 'push.url');
  elsif not (case when pg_catalog.jsonb_typeof(v_seconds) = 'number'
    then v_seconds::numeric between 1 and 300 and v_seconds::numeric % 1 = 0
    else v_seconds = 'null' end)
  then
    perform tock.refuse(422, 'timeout_seconds must be a whole number from 1 to 300', 'push.timeout_seconds');
  end if;
end $$;

-- Raises TK422 for the first task with a push_url in a queue without push, or without one if it needs one. A
-- task goes to its own push_url, or else to the url of its queue.
create or replace function tock.check_push(p_tasks jsonb, p_policy tock.queues)
returns void language plpgsql immutable as $$
declare
  v_n bigint;
begin
  if p_policy.push ->> 'url' is not null
    or (p_policy.push is null and not pg_catalog.jsonb_path_exists(p_tasks, '$[*].push_url'))
  then
    return;
  end if;
  select t.n - 1 into v_n from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t (task, n)
  where (t.task ->> 'push_url' is null) = (p_policy.push is not null) order by t.n limit 1;
  if v_n is not null then
    perform tock.refuse(422, case when p_policy.push is null
      then 'this queue has no push, so the task would not be sent'
        else 'this queue has push without a url, so each task needs a push_url' end,
      pg_catalog.format('tasks[%s].push_url', v_n),
      case when p_policy.push is null
        then 'leave out push_url, or set push of the queue: put_queue(…, ''{"push": {}}'')'
        else 'set push_url, or a url in push of the queue' end);
  end if;
end $$;
