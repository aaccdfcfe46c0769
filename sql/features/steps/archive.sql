-- The steps of an ended task as the archive has them: an array with one text, the JSON of what task_steps()
-- returns; null if it has none. A row of the archive is read and written as a whole, so this text has a
-- limit: when 4 MiB are full, further results and errors are shortened, and the list ends after 4 MiB without
-- them.
create or replace function tock.steps_to_archive(p_task_id bigint, p_options jsonb)
returns text[] language plpgsql stable as $$
begin
  return (
    select array[pg_catalog.jsonb_agg(case
      when b.bytes <= 4194304 then b.step
      when b.step -> 'result' <> 'null' then b.step || '{"result": {"shortened": true}}'
      when b.step -> 'error' <> 'null' then b.step || '{"error": {"shortened": true}}'
      else b.step end order by b.n)::text]
    from (
      select j.n, j.step, sum(pg_catalog.octet_length(j.step::text)) over w as bytes,
        sum(pg_catalog.octet_length((j.step - '{result,error}'::text[])::text)) over w as bare_bytes
      from (
        select row_number() over () as n, pg_catalog.to_jsonb(s)
          || pg_catalog.jsonb_build_object('child_id', s.child_id::text)
          || case when s.kind = 'link' then '{"result": null}' else '{}' end::jsonb as step
        from tock.steps_of(p_task_id, tock.steps_from(p_task_id, p_options)) s) j
      window w as (order by j.n)) b
    where b.bare_bytes <= 4194304
    having count(*) > 0);
end $$;
