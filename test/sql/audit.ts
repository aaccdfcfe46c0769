import type pg from 'pg';
import { expect } from 'vitest';
import { rows } from './support.ts';

/**
 * What must hold of any state of the tables, one line a sentence, each with the number of rows that
 * break it. Reads through the parents: a run is judged wherever it lies.
 */
const sentences = `
  with covered as (
    select r.stream, r.position, count(l.*) as leases,
      bool_or(l.outcome = 'lost') as lost, bool_or(l.closed_at is not null) as closed
    from tock.runs r
    left join tock.leases l
      on l.stream = r.stream and r.position > l.after_position and r.position <= l.last_position
    group by r.stream, r.position
  ), cursors as (
    select s.number as stream, s.awake,
      greatest(s.start_after, coalesce((
        select max(l.last_position) from tock.leases l where l.stream = s.number), 0)) as position
    from tock.streams s
  ), chained as (
    select coalesce(r.task_id, r.position << 20 | r.stream) as task, r.stream, r.position,
      e.state, e.next_id, c.closed
    from tock.runs r
    join covered c using (stream, position)
    left join tock.results e using (stream, position)
  ), heads as (
    select ch.task,
      count(*) filter (where ch.state = 'done' or (ch.state is null and ch.closed)) as done,
      count(*) filter (where ch.state in ('failed', 'lost') and ch.next_id is null) as dead,
      count(*) filter (where ch.state is null and not coalesce(ch.closed, false)) as going_on
    from chained ch group by ch.task
  ), hopes as (
    select coalesce(w.task_id, w.position << 20) as task, count(*) as waits
    from tock.waiting w group by 1
  )
  select 'a run lies in two leases' as sentence, count(*) from covered where leases > 1
  union all
  select 'a run below its cursor lies in no lease', count(*)
    from covered c join cursors u using (stream) where c.leases = 0 and c.position <= u.position
  union all
  select 'a run above its cursor lies in a lease', count(*)
    from covered c join cursors u using (stream) where c.leases > 0 and c.position > u.position
  union all
  select 'a stream sleeps with runs above its cursor', count(*)
    from covered c join cursors u using (stream) where not u.awake and c.position > u.position
  union all
  select 'a lease holds another number of runs than its range', count(*)
    from tock.leases l where l.runs <> (
      select count(*) from tock.runs r
      where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position)
  union all
  select 'a run in a lost lease has no result', count(*)
    from covered c left join tock.results e using (stream, position)
    where c.lost and e.state is null
  union all
  select 'a result is of a run in no lease', count(*)
    from tock.results e left join covered c using (stream, position)
    where coalesce(c.leases, 0) = 0
  union all
  select 'a task ended twice, or goes on after its end', count(*)
    from heads h left join hopes o using (task)
    where h.done + h.dead + h.going_on + coalesce(o.waits, 0) > 1
  union all
  select 'a task neither ended nor goes on', count(*)
    from heads h left join hopes o using (task)
    where h.done + h.dead + h.going_on + coalesce(o.waits, 0) = 0
  union all
  select 'a next run is missing', count(*)
    from tock.results e
    where e.next_id is not null
      and not exists (select from tock.runs r
        where r.stream = (e.next_id & 1048575)::integer and r.position = e.next_id >> 20)
      and not exists (select from tock.waiting w where w.position = e.next_id >> 20)
      and not exists (select from tock.promotions p where p.position = e.next_id >> 20)
  union all
  select 'a promoted run is missing', count(*)
    from tock.promotions p
    where not exists (select from tock.runs r
      where r.stream = (p.run_id & 1048575)::integer and r.position = p.run_id >> 20)
  union all
  select 'a run has two predecessors', count(*)
    from (select e.next_id from tock.results e where e.next_id is not null
          group by e.next_id having count(*) > 1) twice
  union all
  select 'a settled epoch holds the newest lease of a stream that is awake', count(*)
    from tock.epochs e join cursors u on u.awake
    where e.settled_at is not null and e.end_position > (
      select greatest(s.start_after, coalesce(max(l.after_position), 0))
      from tock.streams s left join tock.leases l on l.stream = s.number
      where s.number = u.stream group by s.start_after)`;

export async function brokenSentences(client: pg.ClientBase): Promise<Record<string, number>> {
  // Compiling this would take longer than running it.
  await client.query('set jit = off');
  const found = await rows<{ sentence: string; count: string }>(client, sentences);
  const broken = found.filter((row) => row.count !== '0');
  return Object.fromEntries(broken.map((row) => [row.sentence, Number(row.count)]));
}

/** Fails, naming them, when runs or tasks were lost, doubled or passed over. */
export async function expectWhole(client: pg.ClientBase): Promise<void> {
  expect(await brokenSentences(client)).toEqual({});
}
