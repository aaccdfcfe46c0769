create or replace function tock.schedule(p_schedule text)
returns setof tock.shown_schedule language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
begin
  return query select (tock.shown_schedule(s)).* from tock.schedules s where s.name = p_schedule;
end $$;

comment on function tock.schedule is
  'A schedule: its settings, its next fire and the outcome of the last one; no row if there is none.';

create or replace function tock.schedules(
  p_queue text default null, p_after text default null, p_limit integer default 100)
returns setof tock.shown_schedule language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
begin
  perform tock.check_range(p_limit, 1, 1000, 'limit');
  if p_queue is null then
    return query select v.* from (
      select s from tock.schedules s where s.name > coalesce(p_after, '') order by s.name limit p_limit) s
      cross join lateral tock.shown_schedule(s.s) v;
  else
    return query select v.* from (
      select s from tock.schedules s where s.queue = p_queue and s.name > coalesce(p_after, '')
      order by s.queue, s.name limit p_limit) s
      cross join lateral tock.shown_schedule(s.s) v;
  end if;
end $$;

comment on function tock.schedules is 'Schedules by name, of one queue or all, after p_after.';

create or replace function tock.schedule_history(
  p_schedule text, p_limit integer default 20, p_before bigint default null)
returns table (number bigint, fire_at timestamptz, until_at timestamptz, fired_at timestamptz, outcome text,
  task_id bigint, error text) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off as $$
#variable_conflict use_column
begin
  perform tock.check_range(p_limit, 1, 1000, 'limit');
  return query
    select d.number, d.fire_at, d.until_at, d.fired_at, d.outcome, d.task_id, d.error
    from tock.schedule_history d
    where d.schedule = p_schedule and d.number < coalesce(p_before, 9223372036854775807)
    order by d.schedule desc, d.number desc limit p_limit;
end $$;

comment on function tock.schedule_history is
  'The fires of a schedule in the last seven days, the newest first, with their outcomes: fired or run '
  '(with the task), overlapped, replaced, missed (from fire_at until before until_at, if there were '
  'several) or failed (with the error).';
