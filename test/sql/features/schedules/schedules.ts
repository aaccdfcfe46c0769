import type pg from 'pg';
import { row, rows, value } from '../../verbs.ts';

export type Schedule = {
  name: string;
  state: string;
  queue: string;
  payload: unknown;
  options: Record<string, unknown>;
  time_zone: string;
  next_fire_at: Date | null;
  due_at: Date | null;
  last_fire_at: Date | null;
  last_fired_at: Date | null;
  last_outcome: string | null;
  last_task_id: string | null;
  last_error: string | null;
  failures: number;
  updated_at: Date;
};

export type ScheduleFire = {
  number: string;
  fire_at: Date;
  until_at: Date | null;
  outcome: string;
  task_id: string | null;
  error: string | null;
};

type Client = Pick<pg.ClientBase, 'query'>;

export async function putSchedule(
  client: Client,
  name: string,
  settings: object,
): Promise<Schedule> {
  const put = 'select * from tock.put_schedule(p_schedule => $1, p_settings => $2)';
  return row(client, put, [name, JSON.stringify(settings)]);
}

export const showSchedule = (client: Client, name: string) =>
  row<Schedule>(client, 'select * from tock.schedule(p_schedule => $1)', [name]);

/** The history of a schedule's fires, the oldest first. */
export async function scheduleHistory(
  client: Client,
  name: string,
  limit = 1000,
): Promise<ScheduleFire[]> {
  const history = 'select * from tock.schedule_history(p_schedule => $1, p_limit => $2)';
  return (await rows<ScheduleFire>(client, history, [name, limit])).reverse();
}

export async function fireSchedules(client: Client, limit = 1000, sweep = true): Promise<number> {
  return value(client, 'select tock.fire_schedules(p_limit => $1, p_sweep => $2)', [limit, sweep]);
}

/** Moves the next fire to the first one after `seconds` ago, and the begin of a period back. */
export async function backdateSchedule(
  client: Client,
  name: string,
  seconds: number,
): Promise<void> {
  await client.query(
    `update tock.schedules s set anchor_at = s.anchor_at - make_interval(secs => s.every_seconds * ceil($2::float8 / s.every_seconds)::int)
     where s.name = $1 and s.every_seconds is not null`,
    [name, seconds],
  );
  await client.query(
    `update tock.schedule_next_fires f set fire_at = n.at, due_at = tock.due_of(s, n.at)
     from tock.schedules s cross join lateral tock.next_fire(s, now() - make_interval(secs => $2)) n(at)
     where s.name = $1 and f.schedule = $1`,
    [name, seconds],
  );
}

/** The payloads of a queue's runs, in their order. */
export async function queuedTasks(client: Client, queue: string): Promise<unknown[]> {
  const queued = `select r.payload from tock.runs r join tock.streams s on s.number = r.stream
    where s.queue = $1 order by r.position`;
  return (await rows<{ payload: unknown }>(client, queued, [queue])).map(({ payload }) => payload);
}
