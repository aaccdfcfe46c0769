-- The options of a rerun in a queue, from those of the task. expires_at is kept if it is in the future. The
-- unique key and the dependencies stay with the first task. A pipeline continues from the stage where the
-- task runs again. The data of parents or children stays in the payload, and so do the options that say so.
-- A fork is marked as suspended, so that its claim returns the steps that it has from the task.
create or replace function tock.options_again(
  p_options jsonb, p_policy tock.queues, p_now timestamptz, p_kind text)
returns jsonb language sql stable as $$
  select nullif(pg_catalog.jsonb_strip_nulls((coalesce(p_options, '{}')
        - '{unique_key,expires_at,depends_on,on_parent_failure,include_results,names,cancelled_for}'::text[]
        - '{suspended,keeps_key,wake_at}'::text[])
      #- '{stage,after}'
      #- case when (p_options #>> '{stage,expires_at}')::timestamptz <= p_now
        then array['stage', 'expires_at'] else '{}' end
    || pg_catalog.jsonb_build_object(
      'suspended', case when p_kind = 'fork' then 'fork' end,
      'timeout_seconds', coalesce((p_options ->> 'timeout_seconds')::integer, p_policy.timeout_seconds),
      'expires_at', case when (p_options ->> 'expires_at')::timestamptz > p_now
        then (p_options ->> 'expires_at')::timestamptz
        else p_now + p_policy.max_wait_seconds * interval '1 second' end)), '{}')
$$;
