-- Waiting ones in the order of their due times, the others by epoch, newest first, and then by stream and
-- position. A part at a time, as what is looked at is judged, too. Where the cursor has a bound (bounded_cursor()), runs and waiting entries above it are left out.
create or replace function tock.select_tasks(
  p_queue text, p_state text, p_tenant text, p_error text, p_rerun boolean, p_not_priority integer, p_cursor text,
  p_limit integer, p_look integer default 10000)
returns tock.page
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_material = off
set jit = off
set plan_cache_mode = force_custom_plan
as $$
declare
  v_sources text[] := tock.sources_of(p_state);
  v_state text;
  v_at jsonb := tock.read_cursor(p_cursor, v_sources);
  v_upto bigint := tock.bound_of(v_at);
  v_since timestamptz := tock.shown_since(p_queue);
  v_part integer := least(p_look, p_limit + 100);
  v_left integer := p_limit;
  v_source text;
  v_epoch integer;
  v_look integer;
  v_waits record;
  v_found tock.listed[];
  v_seen integer;
  v_last bigint;
  v_page tock.page;
begin
  v_page.tasks := '{}';
  v_page.looked_at := 0;
  foreach v_source in array v_sources loop
    continue when v_at is not null and v_at ->> 0 <> v_source;
    -- what left the source before since the first call is found in this one
    if v_at is null and v_upto is not null then
      v_upto := (select s.last_value from tock.positions s);
    end if;
    v_state := case p_state when 'unstarted' then v_source else p_state end;
    for v_epoch in
      select e.number from tock.epochs e
      where v_source <> 'waiting' and e.number <= coalesce((v_at ->> 1)::integer, 2147483647)
        and e.first_position <= (select s.last_value from tock.positions s)
        -- what is settled is known to hold nothing unfinished, and whose dead; what is audited, whose runs
        and (e.settled_at is null or v_source not in ('ready', 'running') and (v_source <> 'dead' or e.dead ? p_queue)
          and (e.audited_at is null or p_queue = any (e.queues)))
      union all select 0 where v_source = 'waiting'
      order by 1 desc
    loop
      if v_epoch > 0 and (v_at ->> 1)::integer <> v_epoch then
        v_at := null;
      end if;
      loop
        v_look := least(v_part, p_look - v_page.looked_at);
        if v_epoch = 0 then
          select w.* into v_waits from tock.list_waiting(p_queue, v_state, p_tenant, p_not_priority,
            coalesce((v_at ->> 1)::timestamptz, '-infinity'), coalesce((v_at ->> 2)::bigint, 0), v_left, v_look, v_upto) w;
          v_found := v_waits.found;
          v_seen := v_waits.looked_at;
          v_at := pg_catalog.jsonb_build_array('waiting', v_waits.last_at, v_waits.last_position);
        else
          execute tock.listing_statement(v_epoch, v_source) into v_found, v_seen, v_last
            using p_queue, coalesce((v_at ->> 2)::integer, 0), coalesce((v_at ->> 3)::bigint, 0), v_look, v_state, p_tenant,
              p_error, p_rerun, p_not_priority, v_since, v_left, v_upto;
          if pg_catalog.cardinality(v_found) = v_left then
            v_last := (v_found[v_left]).run_id;
          end if;
          v_at := pg_catalog.jsonb_build_array(v_source, v_epoch, v_last & 1048575, v_last >> 20);
        end if;
        v_left := v_left - pg_catalog.cardinality(v_found);
        v_page.looked_at := v_page.looked_at + v_seen;
        v_page.tasks := v_page.tasks || v_found;
        if v_left = 0 or (v_seen = v_look and v_page.looked_at >= p_look) then
          v_page.cursor := tock.write_cursor(case when v_upto is null then v_at else v_at || pg_catalog.to_jsonb(v_upto) end);
          return v_page;
        end if;
        exit when v_seen < v_look;
        v_part := least(4 * v_part, p_look);
      end loop;
      v_at := null;
    end loop;
    v_at := null;
  end loop;
  return v_page;
end $$;

comment on function tock.select_tasks is
  'Tasks of a queue in a state, of a tenant, with an error, rerun or not: up to p_limit of the p_look rows looked at, and where to go on.';
