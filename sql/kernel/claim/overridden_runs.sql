-- The way of a draw that met a mark, and of runs with options.
create or replace function tock.draw_marked(
  p_epoch integer, p_stream integer, p_after bigint, p_limit integer, p_token uuid, p_worker text,
  p_until timestamptz, p_bytes integer, p_one boolean, p_max_attempts smallint, p_priority smallint)
returns table (
  lease uuid, leased_until timestamptz, id bigint, run_id bigint, attempt integer, max_attempts integer,
  priority integer, tenant text, created_at timestamptz, payload jsonb)
language plpgsql
volatile
as $$
#variable_conflict use_column
declare
  v_passed tock.passed := tock.pass_marked(p_epoch, p_stream, p_after, p_limit);
  v_timeout timestamptz := pg_catalog.clock_timestamp() + v_passed.timeout_seconds * interval '1 second';
begin
  if v_passed.upto > v_passed.after_position then
    return query select * from tock.lease_marked_range_current(p_epoch, p_stream, v_passed.after_position, p_limit, p_token,
      p_worker, least(p_until, v_timeout), p_bytes, p_one, p_max_attempts, p_priority, v_passed.skips, v_passed.upto);
    if not found and p_epoch is distinct from tock.current_epoch() then
      return query execute pg_catalog.format(
        'select * from tock.lease_marked_range_%s($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)', p_epoch)
        using p_epoch, p_stream, v_passed.after_position, p_limit, p_token, p_worker, least(p_until, v_timeout), p_bytes,
          p_one, p_max_attempts, p_priority, v_passed.skips, v_passed.upto;
    end if;
  end if;
end $$;

comment on function tock.draw_marked is 'Leases what lies above a stream''s cursor in an epoch, past what is marked, and returns it, in order.';

-- With the stream's lock held. One snapshot shows the runs and their marks, up to the p_limit-th that is to
-- be drawn. Marked ones at the cursor are passed by a closed lease, 10,000 a claim; those further on are
-- left to the draw, up to 1,000, whose lease says which they were.
create or replace function tock.pass_marked(p_epoch integer, p_stream integer, p_after bigint, p_limit integer)
returns tock.passed
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_before integer := coalesce(substring(pg_catalog.current_setting('tock.claim', true) from '^passed (\d+)$')::integer, 0);
  v_run record;
  v_drawn integer := 0;
  v_leading integer := 0;
  v_gates text[] := '{}';
  v_passed tock.passed;
begin
  v_passed.after_position := p_after;
  v_passed.skips := '{}';
  v_passed.upto := p_after;
  for v_run in execute pg_catalog.format($q$
    select r.position, coalesce(r.expired, false) or (
        select m.position from tock.marks_%1$s m
        where m.stream = $1 and m.position = r.position and m.kind <> 'amended' limit 1) is not null as off,
      r.timeout_seconds, r.gate
    from (
      select n.position, (n.options ->> 'timeout_seconds')::integer as timeout_seconds, n.options ->> 'gate' as gate,
        (n.options ->> 'expires_at')::timestamptz <= pg_catalog.clock_timestamp() as expired
      from tock.runs_%1$s n where n.stream = $1 and n.position > $2
      order by n.stream, n.position offset 0) r
    order by r.position$q$, p_epoch)
    using p_stream, p_after
  loop
    if not v_run.off then
      exit when v_drawn > 0 and v_run.timeout_seconds is distinct from v_passed.timeout_seconds;
      v_passed.timeout_seconds := v_run.timeout_seconds;
      v_drawn := v_drawn + 1;
    elsif v_drawn > 0 then
      v_passed.skips := v_passed.skips || v_run.position;
      v_gates := v_gates || v_run.gate;
    elsif v_before + v_leading >= 10000 then
      exit;
    else
      v_leading := v_leading + 1;
      v_passed.after_position := v_run.position;
      v_gates := v_gates || v_run.gate;
    end if;
    v_passed.upto := v_run.position;
    exit when v_drawn = p_limit or pg_catalog.cardinality(v_passed.skips) = 1000;
  end loop;
  if v_leading > 0 then
    perform tock.skip_to(p_stream, p_after, v_passed.after_position, v_leading);
  end if;
  if v_leading > 0 or v_passed.skips <> '{}' then
    perform tock.on_runs_skipped(p_stream, p_after, v_passed.upto, pg_catalog.array_remove(v_gates, null));
  end if;
  perform pg_catalog.set_config('tock.claim', 'passed ' || least(v_before + v_leading, 10000), true);
  return v_passed;
end $$;

comment on function tock.pass_marked is
  'Passes over the marked runs at a stream''s cursor; says where the cursor is then, which of the next p_limit runs are to be skipped, and how far it has looked.';
