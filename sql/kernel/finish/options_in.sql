-- The options of a task that continues in another queue, after this position: its own with the
-- defaults of that queue. The concurrency key of the task now means the key of that name in the other queue.
-- expires_at stays only if the task itself asked for it.
create or replace function tock.options_in(p_options jsonb, p_queue text, p_after bigint)
returns jsonb language plpgsql stable as $$
declare
  v_policy tock.queues := tock.policy(p_queue);
  v_own jsonb := p_options -> 'stage';
begin
  return nullif(pg_catalog.jsonb_strip_nulls(
    coalesce(p_options, '{}') - '{gathered,resume,suspended,keeps_key,wake_at}'::text[]
    || pg_catalog.jsonb_build_object(
    'timeout_seconds', coalesce(v_own -> 'timeout_seconds', pg_catalog.to_jsonb(v_policy.timeout_seconds)),
    'expires_at', coalesce(v_own -> 'expires_at', pg_catalog.to_jsonb(
      pg_catalog.clock_timestamp() + v_policy.max_wait_seconds * interval '1 second')),
    'stage', case when p_options ? 'pipeline' then coalesce(v_own, '{}')
      || pg_catalog.jsonb_build_object('after', p_after) end)), '{}');
end $$;
