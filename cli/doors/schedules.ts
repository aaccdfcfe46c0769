import type pg from 'pg';
import { ask } from './ask.ts';

export type Schedule = {
  name: string;
  state: string;
  queue: string;
  cron: string | null;
  every_seconds: number | null;
  run_at: string | null;
  time_zone: string;
  next_fire_at: string | null;
  last_fired_at: string | null;
  last_outcome: string | null;
  last_task_id: string | null;
  last_error: string | null;
  failures: number;
  [setting: string]: unknown;
};

export type Fire = {
  number: string;
  fire_at: string;
  until_at: string | null;
  fired_at: string;
  outcome: string;
  task_id: string | null;
  error: string | null;
};

export type NextFire = { fire_at: string; local_time: string };

type Look = {
  queue?: string | undefined;
  after?: string | undefined;
  limit?: number | undefined;
};
type Expression = { cron: string; time_zone?: string | undefined };

/** What is enqueued by the clock. Where it says null there is no such schedule. */
export type Schedules = {
  /** `settings` as JSON text. */
  putSchedule(name: string, settings: string): Promise<Schedule>;
  schedule(name: string): Promise<Schedule | null>;
  schedules(look: Look): Promise<Schedule[]>;
  pauseSchedule(name: string): Promise<Schedule | null>;
  resumeSchedule(name: string): Promise<Schedule | null>;
  /** The task's id. */
  runSchedule(name: string, requestId: string): Promise<string | null>;
  dropSchedule(name: string): Promise<boolean>;
  fires(name: string, limit: number): Promise<Fire[] | null>;
  nextFires(of: string | Expression, count: number): Promise<NextFire[] | null>;
};

type Call = {
  found<T>(route: string, body?: string): Promise<T>;
  foundOrNull<T>(route: string, body?: string): Promise<T | null>;
};

const given = (options: object) =>
  new URLSearchParams(
    Object.entries(options)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, String(value)]),
  ).toString();

export function httpSchedules({ found, foundOrNull }: Call): Schedules {
  const at = (name: string) => `/v1/schedules/${encodeURIComponent(name)}`;
  type Fires<T> = { fires: T[] };
  return {
    putSchedule: (name, settings) => found(`PUT ${at(name)}`, settings),
    schedule: (name) => foundOrNull(`GET ${at(name)}`),
    schedules: async (look) =>
      (await found<{ schedules: Schedule[] }>(`GET /v1/schedules?${given(look)}`)).schedules,
    pauseSchedule: (name) => foundOrNull(`POST ${at(name)}/pause`),
    resumeSchedule: (name) => foundOrNull(`POST ${at(name)}/resume`),
    async runSchedule(name, request_id) {
      const body = JSON.stringify({ request_id });
      return (await foundOrNull<{ id: string }>(`POST ${at(name)}/run`, body))?.id ?? null;
    },
    dropSchedule: async (name) => (await foundOrNull(`DELETE ${at(name)}`)) !== null,
    fires: async (name, limit) =>
      (await foundOrNull<Fires<Fire>>(`GET ${at(name)}/fires?limit=${limit}`))?.fires ?? null,
    async nextFires(of, count) {
      const route =
        typeof of === 'string'
          ? `GET ${at(of)}/next?count=${count}`
          : `GET /v1/next-fires?${given({ ...of, count })}`;
      return (await foundOrNull<Fires<NextFire>>(route))?.fires ?? null;
    },
  };
}

export function sqlSchedules(client: pg.Client): Schedules {
  const json =
    "to_jsonb(v) || jsonb_build_object('last_task_id', v.last_task_id::text) as schedule";
  const all = async (from: string, values: unknown[]) =>
    (await ask<{ schedule: Schedule }>(client, `select ${json} from ${from} as v`, values)).map(
      ({ schedule }) => schedule,
    );
  const one = async (from: string, values: unknown[]) => (await all(from, values))[0] ?? null;
  return {
    putSchedule: async (name, settings) =>
      (await one('tock.put_schedule(p_schedule => $1, p_settings => $2::jsonb)', [
        name,
        settings,
      ])) as Schedule,
    schedule: (name) => one('tock.schedule(p_schedule => $1)', [name]),
    schedules: ({ queue, after, limit = 100 }) =>
      all('tock.schedules(p_queue => $1, p_after => $2, p_limit => $3)', [queue, after, limit]),
    pauseSchedule: (name) => one('tock.pause_schedule(p_schedule => $1)', [name]),
    resumeSchedule: (name) => one('tock.resume_schedule(p_schedule => $1)', [name]),
    async runSchedule(name, requestId) {
      const sql =
        'select r.id::text from tock.run_schedule(p_schedule => $1, p_request_id => $2) r (id)';
      return (await ask<{ id: string }>(client, sql, [name, requestId]))[0]?.id ?? null;
    },
    async dropSchedule(name) {
      const sql = 'select tock.drop_schedule(p_schedule => $1) as dropped';
      return (await ask<{ dropped: boolean }>(client, sql, [name]))[0]?.dropped ?? false;
    },
    async fires(name, limit) {
      if (!(await one('tock.schedule(p_schedule => $1)', [name]))) return null;
      return ask<Fire>(
        client,
        `select number::text, to_json(fire_at) as fire_at, to_json(until_at) as until_at, to_json(fired_at) as fired_at,
           outcome, task_id::text, error
         from tock.last_fires(p_schedule => $1, p_limit => $2)`,
        [name, limit],
      );
    },
    async nextFires(of, count) {
      if (typeof of === 'string' && !(await one('tock.schedule(p_schedule => $1)', [of])))
        return null;
      const { cron = null, time_zone = null } = typeof of === 'string' ? {} : of;
      return ask<NextFire>(
        client,
        `select to_json(fire_at) as fire_at, local_time
         from tock.next_fires(p_schedule => $1, p_cron => $2, p_time_zone => $3, p_count => $4)`,
        [typeof of === 'string' ? of : null, cron, time_zone, count],
      );
    },
  };
}
