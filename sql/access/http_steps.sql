create or replace function tock.authorize_steps(p_key text, p_lease uuid, p_steps jsonb)
returns boolean language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform tock.authorize(p_key, 'claim', tock.queue_of_lease(p_lease));
  perform tock.authorize(p_key, 'claim', pg_catalog.split_part(s.step ->> 'event', '/', 1), false, true)
  from pg_catalog.jsonb_array_elements(p_steps) s (step) where s.step ? 'event';
  perform tock.authorize(p_key, 'enqueue', s.step #>> '{invoke,queue}', false, true),
    tock.authorize_tasks(p_key, pg_catalog.jsonb_build_array(s.step -> 'invoke'),
      pg_catalog.format('steps[%s].invoke.depends_on', s.n - 1))
  from pg_catalog.jsonb_array_elements(p_steps) with ordinality s (step, n) where s.step ? 'invoke';
  return true;
end $$;

comment on function tock.authorize_steps is
  'authorize() for POST /v1/leases/:lease/steps: the queue of the lease, the queues of events, and those of '
  'invoked tasks.';
