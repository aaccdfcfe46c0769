-- Makes one function of a segment from its template.
--
-- Statements on the hot path name the tables of one segment. Through the partitioned tables, PostgreSQL would
-- plan and lock all segments. Each such statement is a plain function in its own file, a template:
--
-- NAME.segment.sql is compiled for each segment as tock.NAME_<number>, and for the current segment also as
-- tock.NAME_current, which needs no dynamic call. The function gets the segment that the caller means
-- (p_segment) and returns null, or no rows, for another: the caller then calls tock.NAME_<number>. A template
-- with the name NAME_{segment} instead of NAME_{suffix} is off the hot path and has no NAME_current.
--
-- NAME.current.sql is compiled only for the current segment, as tock.NAME. {is_current} is true while the
-- sequence is in that segment and the server has not restarted. A function that checks its segment in another
-- way leaves it out.
--
-- The placeholders are {segment} {suffix} {first_position} {end_position} {valid_until} {is_current}; the
-- last one refers to tock.positions s. A deploy stores the templates in tock.segment_templates and compiles
-- them all (after_install.sql).
create or replace function tock.compile_template(
  p_template tock.segment_templates, p_segment tock.segments, p_suffix text, p_valid_until bigint,
  p_is_current text)
returns void language plpgsql volatile
-- templates call each other in any order; the migrator checks all bodies afterwards
set check_function_bodies = off as $$
declare
  v_body text := p_template.body;
  v_copied text := pg_catalog.current_setting('citus.enable_ddl_propagation', true);
  v_pair text[];
begin
  foreach v_pair slice 1 in array array[
    ['{segment}', p_segment.number::text], ['{suffix}', p_suffix],
      ['{first_position}', p_segment.first_position::text],
    ['{end_position}', p_segment.end_position::text], ['{valid_until}', p_valid_until::text],
    ['{is_current}', p_is_current]]
  loop
    v_body := pg_catalog.replace(v_body, v_pair[1], coalesce(v_pair[2], v_pair[1]));
  end loop;
  -- Citus would copy the function to the other nodes, and refuse it on all but the coordinator
  perform pg_catalog.set_config('citus.enable_ddl_propagation', 'off', true) where v_copied = 'on';
  execute v_body;
  -- do not depend on default privileges, which an operator may have changed
  execute pg_catalog.format(
    'revoke all on function tock.%I from public, tock_producer, tock_worker, tock_admin, tock_edge',
    p_template.name || case p_template.kind when 'segment' then '_' || p_suffix else '' end);
  perform pg_catalog.set_config('citus.enable_ddl_propagation', 'on', true) where v_copied = 'on';
exception
  when others then
    raise exception using errcode = sqlstate,
      message = pg_catalog.format('sql/%s: %s', p_template.file, sqlerrm);
end $$;

-- Makes the functions of a segment, when the segment is made and at each deploy.
create or replace function tock.compile_segment(p_segment integer)
returns void language sql volatile as $$
  select tock.compile_template(t, e, e.number::text, null, null)
  from tock.segments e cross join tock.segment_templates t
  where e.number = p_segment and t.kind = 'segment'
  order by t.name
$$;

-- Makes the functions of the current segment under their fixed names. The functions may be replaced between
-- two statements of a call. So each one checks that it was compiled for the segment that its caller means.
create or replace function tock.compile_current()
returns void language plpgsql volatile as $$
declare
  v_segment tock.segments;
  v_valid_until bigint;
begin
  perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(),
    tock.named_key('maintenance_job', 'compile_current'));
  -- the sequence advances meanwhile, so it is read once: the functions and their range follow from that value
  select e.* into v_segment from tock.segments e where e.number = tock.newest_segment();
  if not found then
    return;  -- there is no segment
  end if;
  -- In the last segment the functions become invalid before its end: the next writer then takes the slow
  -- path, which makes a segment.
  v_valid_until := v_segment.end_position - case
    when exists (select from tock.segments e where e.number > v_segment.number) then 0
    else least(200000, (v_segment.end_position - v_segment.first_position) / 4) end;
  perform tock.compile_template(t, v_segment, 'current', v_valid_until, pg_catalog.format(
    's.last_value >= %s and s.last_value < %s and pg_catalog.pg_postmaster_start_time() = %L::timestamptz '
      'and ''tock''::regnamespace = %s::oid',
    v_segment.first_position, v_valid_until,
    pg_catalog.to_char(pg_catalog.pg_postmaster_start_time() at time zone 'UTC',
      'YYYY-MM-DD HH24:MI:SS.US+00'),
    'tock'::regnamespace::oid))
  from tock.segment_templates t
  where t.kind = 'current' or pg_catalog.strpos(t.body, '{suffix}') > 0
  order by t.name;
end $$;
