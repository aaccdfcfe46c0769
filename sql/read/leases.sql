-- The index of open leases is read, the next deadline first. The answer never has a lease token, which
-- belongs to the worker. If a segment has more leases than were scanned, the page ends there for all
-- segments, and the next call continues from that point.
create or replace function tock.running(
  p_queue text default null, p_worker text default null, p_cursor text default null,
  p_limit integer default 100)
returns table (leases jsonb, cursor text, scanned integer) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_after jsonb;
  v_segment integer;
  v_part jsonb;
  v_all jsonb := '[]';
  v_scanned integer := 0;
  v_count integer;
  v_last jsonb;
  v_horizon jsonb;
begin
  if p_queue is not null then
    perform tock.check_queue_name(p_queue);
  end if;
  if coalesce(p_limit, 0) not between 1 and 1000 then
    perform tock.refuse(422, 'limit must be a whole number from 1 to 1000', 'limit');
  end if;
  begin
    v_after := pg_catalog.convert_from(pg_catalog.decode(p_cursor, 'hex'), 'UTF8')::jsonb;
    if num_nulls((v_after ->> 0)::timestamptz, (v_after ->> 1)::integer, (v_after ->> 2)::bigint) <> 0
      and p_cursor is not null
    then
      raise data_exception;
    end if;
  exception when data_exception then
    perform tock.refuse(422, 'the cursor is not from this list', 'cursor',
      'send the cursor of the previous page, with the same filter');
  end;
  foreach v_segment in array tock.open_segments() loop
    execute pg_catalog.format('select l.* from tock.list_leases_%s($1, $2, $3, $4, $5, $6) l', v_segment)
      into v_part, v_count, v_last
      using (v_after ->> 0)::timestamptz, (v_after ->> 1)::integer, (v_after ->> 2)::bigint, p_queue,
        p_worker, p_limit + 1;
    v_all := v_all || v_part;
    v_scanned := v_scanned + v_count;
    if v_last is not null
      and (v_horizon is null or ((v_last ->> 0)::timestamptz, (v_last ->> 1)::integer, (v_last ->> 2)::bigint)
      < ((v_horizon ->> 0)::timestamptz, (v_horizon ->> 1)::integer, (v_horizon ->> 2)::bigint))
    then
      v_horizon := v_last;
    end if;
  end loop;
  return query
    with ordered as (
      select x.lease, row_number() over (order by (x.lease #>> '{at,0}')::timestamptz,
        (x.lease #>> '{at,1}')::integer,
        (x.lease #>> '{at,2}')::bigint) as n
      from pg_catalog.jsonb_array_elements(v_all) x (lease)
      where v_horizon is null
        or ((x.lease #>> '{at,0}')::timestamptz, (x.lease #>> '{at,1}')::integer,
          (x.lease #>> '{at,2}')::bigint)
        <= ((v_horizon ->> 0)::timestamptz, (v_horizon ->> 1)::integer, (v_horizon ->> 2)::bigint)
    )
    select coalesce(pg_catalog.jsonb_agg(o.lease - 'at' order by o.n) filter (where o.n <= p_limit), '[]'),
      pg_catalog.encode(pg_catalog.convert_to((
        case when count(*) > p_limit then (select z.lease -> 'at' from ordered z where z.n = p_limit)
          else v_horizon end)::text, 'UTF8'), 'hex'),
      v_scanned
    from ordered o;
end $$;

comment on function tock.running is
  'Open leases, of one queue or worker if given, the next deadline first (a lease over several streams once '
  'for each), each with the ids of up to ten unfinished tasks. Scans up to 2,000 leases per segment, and a '
  'page may be empty: continue while there is a cursor.';
