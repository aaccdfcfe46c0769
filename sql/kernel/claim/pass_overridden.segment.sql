-- Skips the cancelled and expired runs at the cursor of a stream in one segment. Returns the new cursor, the
-- runs to skip after it, the last position that was checked, and how many were skipped. Null for another
-- segment. The caller holds the stream lock. One snapshot shows the runs and their overrides, up to the last
-- run that this claim may lease. A closed lease covers the cancelled and expired runs at the cursor, up to
-- p_most. Up to 1,000 such runs between other runs become part of the lease of the claim, which lists them in
-- skips.
create or replace function tock.pass_overridden_{suffix}(p_range tock.claim_range, p_most integer)
returns tock.passed language plpgsql volatile as $$
declare
  v_run record;
  v_taken integer := 0;
  v_concurrency_keys text[] := '{}';
  v_passed tock.passed := row(p_range.after_position, '{}', p_range.after_position, null, 0);
begin
  if p_range.segment <> {segment} then
    return null;
  end if;
  for v_run in
    select r.position, r.timeout_seconds, r.concurrency_key,
      coalesce(r.expired, false) or (
        select m.position from tock.run_overrides_{segment} m
        where m.stream = p_range.stream and m.position = r.position and m.kind <> 'amended'
        limit 1) is not null as off
    from (
      select n.position, n.options ->> 'concurrency_key' as concurrency_key,
        (n.options ->> 'timeout_seconds')::integer as timeout_seconds,
        (n.options ->> 'expires_at')::timestamptz <= pg_catalog.clock_timestamp() as expired
      from tock.runs_{segment} n where n.stream = p_range.stream and n.position > p_range.after_position
      order by n.stream, n.position offset 0) r
    order by r.position
  loop
    if not v_run.off then
      exit when v_taken > 0 and v_run.timeout_seconds is distinct from v_passed.timeout_seconds;
      v_passed.timeout_seconds := v_run.timeout_seconds;
      v_taken := v_taken + 1;
    elsif v_taken > 0 then
      v_passed.skips := v_passed.skips || v_run.position;
      v_concurrency_keys := v_concurrency_keys || v_run.concurrency_key;
    else
      exit when v_passed.passed = p_most;
      v_passed.passed := v_passed.passed + 1;
      v_passed.after_position := v_run.position;
      v_concurrency_keys := v_concurrency_keys || v_run.concurrency_key;
    end if;
    v_passed.upto := v_run.position;
    exit when v_taken = p_range.most or pg_catalog.cardinality(v_passed.skips) = 1000;
  end loop;
  if v_passed.passed > 0 then
    perform tock.skip_range(p_range.stream, p_range.after_position, v_passed.after_position, v_passed.passed);
  end if;
  if v_passed.passed > 0 or v_passed.skips <> '{}' then
    perform tock.on_runs_skipped(
      p_range.stream, p_range.after_position, v_passed.upto,
      pg_catalog.array_remove(v_concurrency_keys, null));
  end if;
  return v_passed;
end $$;
