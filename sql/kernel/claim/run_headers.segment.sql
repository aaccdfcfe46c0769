-- The headers, push_url and saved steps of the runs of a lease, by run id; null for another segment. The
-- headers of a run never change, so a later statement than the one that leases may read them.
create or replace function tock.run_headers_{suffix}(p_lease uuid, p_segment integer)
returns jsonb language plpgsql volatile as $$
begin
  if p_segment <> {segment} then
    return null;
  end if;
  return (
    select coalesce(pg_catalog.jsonb_object_agg(
      tock.id_at(r.position, l.stream)::text, pg_catalog.jsonb_build_object(
        'headers', r.options -> 'headers', 'push_url', r.options -> 'push_url', 'steps',
        case when r.options ? 'suspended' then coalesce(
          tock.steps_of_run(coalesce(r.task_id, tock.id_at(r.position, l.stream)), r.options,
            least(524288, 4194304 / l.runs)),
          -- the worker of a first run reads its steps only if it gets a list
          case when r.options ->> 'suspended' = 'fork' then '[]'::jsonb end) end)), '{}')
    from tock.leases_{segment} l
    cross join lateral (
      select r.position, r.task_id, r.options from tock.runs_{segment} r
      where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
        and r.options ?| '{headers,push_url,suspended}'
      offset 0) r
    where l.token = p_lease and l.alone is null);
end $$;
