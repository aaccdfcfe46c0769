import type pg from 'pg';

/**
 * Invariants that hold in any state of the tables, each with the number of rows that break it. The query reads the
 * partitioned tables, so it checks the runs of all segments.
 */
const sentences = `
  with recursive covered as (
    select r.stream, r.position, coalesce(r.task_id, r.position << 20 | r.stream) as task,
      bool_or((r.options ->> 'expires_at')::timestamptz <= clock_timestamp()) as expired, count(l.*) as leases, bool_or(l.outcome = 'lost') as lost, bool_or(l.closed_at is not null) as closed,
      coalesce(bool_or(l.runs > 0 and r.position <> all (coalesce(l.skips, '{}'))), false) as leased,
      coalesce(bool_or(l.outcome = 'purged'), false) as purged
    from tock.runs r
    left join tock.leases l
      on l.stream = r.stream and r.position > l.after_position and r.position <= l.last_position
    group by r.stream, r.position, r.task_id
  ), cursors as (
    select s.number as stream, s.awake,
      greatest(s.start_after, coalesce((
        select max(l.last_position) from tock.leases l where l.stream = s.number), 0)) as cursor_at
    from tock.streams s
  ), marked as (
    select m.stream, m.position, bool_or(m.kind = 'cancelled') as cancelled,
      nullif(max(m.other_id) filter (where m.kind = 'superseded'), 0) as next_id
    from tock.run_overrides m group by m.stream, m.position
  ), chained as (
    select c.*, e.state, coalesce(m.next_id, e.next_id) as next_id,
      coalesce(m.cancelled, false) and m.next_id is null as cancelled
    from covered c
    left join tock.results e using (stream, position)
    left join marked m using (stream, position)
  ), heads as (
    select ch.task,
      count(*) filter (where (ch.state = 'done' and ch.next_id is null)
        or (ch.state is null and ch.leased and ch.closed)) as done,
      count(*) filter (where ch.state in ('failed', 'lost') and ch.next_id is null) as dead,
      count(*) filter (where ch.state = 'cancelled' or (ch.state is null and not ch.leased and ch.next_id is null
        and (ch.cancelled or ch.purged))) as cancelled,
      count(*) filter (where ch.state is null and ch.next_id is null
        and case when ch.leased then not ch.closed else not (ch.cancelled or ch.purged) end) as going_on
    from chained ch group by ch.task
  ), hopes as (
    select coalesce(w.task_id, w.position << 20) as task, count(*) as waits
    from tock.waiting w group by 1
  )
  select 'a run lies in two leases' as sentence, count(*) from covered where leases > 1
  union all
  select 'a run below its cursor lies in no lease', count(*)
    from covered c join cursors u using (stream) left join tock.results e using (stream, position)
    where c.leases = 0 and c.position <= u.cursor_at and e.state is null
  union all
  select 'a run above its cursor lies in a lease', count(*)
    from covered c join cursors u using (stream) where c.leases > 0 and c.position > u.cursor_at
  union all
  select 'a stream sleeps with runs above its cursor', count(*)
    from covered c join cursors u using (stream) where not u.awake and c.position > u.cursor_at
  union all
  select 'a lease holds another number of runs than its range', count(*)
    from tock.leases l where l.runs + l.skipped <> (
      select count(*) from tock.runs r
      where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position)
  union all
  select 'a lease is no range, or its end not known', count(*)
    from tock.leases l where l.last_position <= l.after_position or l.runs < 0 or l.skipped < 0
      or (l.closed_at is null) <> (l.outcome is null) or l.outcome not in ('done', 'lost', 'skipped', 'purged')
      or (l.runs = 0 and coalesce(l.outcome not in ('skipped', 'purged'), true))
  union all
  select 'a lease with runs crosses a segment', count(*)
    from tock.leases l where l.runs > 0 and tock.segment_of(l.after_position + 1) <> tock.segment_of(l.last_position)
  union all
  select 'an open lease lies in another leaf than its token says', count(*)
    from tock.leases l where l.closed_at is null
      and ('x' || right(l.token::text, 7))::bit(28)::integer <> tock.segment_of(l.after_position + 1)
  union all
  select 'a run was passed over without a mark', count(*)
    from covered c left join marked m using (stream, position)
    where c.leases > 0 and not c.leased and not c.purged and m.stream is null and c.expired is not true
  union all
  select 'a run was replaced and handed out', count(*)
    from covered c join marked m using (stream, position) where c.leased and m.next_id is not null
  union all
  select 'a run in a lost lease has no result', count(*)
    from covered c left join tock.results e using (stream, position)
    where c.lost and c.leased and e.state is null
  union all
  select 'a result is of a run in no lease', count(*)
    from tock.results e left join covered c using (stream, position)
    where coalesce(c.leases, 0) = 0 and e.error ->> 'name' is distinct from 'NeverClaimed'
  union all
  select 'a task ended twice, or goes on after its end', count(*)
    from heads h left join hopes o using (task)
    where h.done + h.dead + h.cancelled + h.going_on + coalesce(o.waits, 0) > 1
  union all
  select 'a task neither ended nor goes on', count(*)
    from heads h left join hopes o using (task)
    where h.done + h.dead + h.cancelled + h.going_on + coalesce(o.waits, 0) = 0
  union all
  select 'a next run is missing', count(*)
    from chained e
    where e.next_id is not null
      and not exists (select from tock.runs r
        where r.stream = (e.next_id & 1048575)::integer and r.position = e.next_id >> 20)
      and not exists (select from tock.waiting w where w.position = e.next_id >> 20)
      and not exists (select from tock.promotions p where p.position = e.next_id >> 20)
  union all
  select 'a promoted run is missing', count(*)
    from tock.promotions p
    -- one of nothing says how far promotion has come
    where not (p.run_id & 1048575 = 0 and p.due_at > '-infinity') and not exists (select from tock.runs r
      where r.stream = (p.run_id & 1048575)::integer and r.position = p.run_id >> 20)
      and not exists (select from tock.waiting w where w.position = p.run_id >> 20)
      and not exists (select from tock.promotions n where n.position = p.run_id >> 20)
  union all
  select 'a run has two predecessors', count(*)
    from (select e.next_id from chained e where e.next_id is not null
          group by e.next_id having count(*) > 1) twice
  union all
  select 'a settled segment holds something unread or running', count(*)
    from tock.segments e
    where e.closed_at is not null and (
      exists (select from covered c join cursors u using (stream) left join tock.results r using (stream, position)
        where c.position >= e.first_position and c.position < e.end_position and c.position > u.cursor_at and r.state is null)
      or exists (select from tock.leases l
        where l.after_position >= e.first_position - 1 and l.after_position < e.end_position - 1 and l.closed_at is null))
  union all
  select 'a step has two outcomes', count(*)
    from (select s.task_id, s.name from tock.steps s
      where s.state in ('done', 'failed', 'timed_out') and not s.unused
        -- each stage of a pipeline has its own steps
        and s.task_id not in (select coalesce(r.task_id, r.position << 20 | r.stream) from tock.runs r where r.options #> '{stage,after}' is not null)
      group by s.task_id, s.name having count(*) > 1) twice
  union all
  select 'a wait for an event is not registered', count(*)
    from (select distinct on (s.task_id, s.name) s.* from tock.steps s
      order by s.task_id, s.name, s.state in ('done', 'failed', 'timed_out') desc, s.unused, s.position desc) s
    join tock.waiting w on w.task_id = s.task_id and w.lost >= 0 and w.options ->> 'suspended' = w.position::text
    where s.kind = 'event' and s.state = 'waiting' and s.position > tock.steps_from(s.task_id, w.options)
      and not exists (select from tock.event_waits x
        where x.task_id = s.task_id and x.step = s.name and x.event = s.event)
      and not exists (select from tock.events e where e.event = s.event)`;

export async function brokenSentences(client: pg.ClientBase): Promise<Record<string, number>> {
  // JIT compilation would take longer than the queries. New rows have no statistics, so the planner would choose nested
  // loops, which take minutes for 50,000 runs.
  await client.query('set jit = off; set enable_nestloop = off');
  const { rows } = await client.query<{ sentence: string; count: string }>(sentences);
  await client.query('reset enable_nestloop');
  const broken = rows.filter((row) => row.count !== '0');
  return Object.fromEntries(broken.map((row) => [row.sentence, Number(row.count)]));
}
