import { refusal } from '../../http/problem.ts';
import type { CallTock } from '../adapter.ts';
import { type Call, done, expectOk, type Handler, json, unlessMissing } from './call.ts';
import { type Destination, destinationOf } from './destination.ts';
import { setFlow } from './flow_control.ts';
import { bodyOf, type Message, messageOf } from './message.ts';
import { PUBLISHED, qstashName, tockQueue, tockSchedule } from './names.ts';
import { type Options, optionsOf } from './options.ts';
import { openQueue } from './queues.ts';
import { allowedQueues } from './search.ts';
import { checkCallbacks, messageTo, taskOf } from './task.ts';
import { contentOf, time } from './view.ts';

const PAGE = 1000;
/** So many schedules are read at once. */
const AT_ONCE = 10;

type Schedule = {
  queue: string;
  cron: string | null;
  time_zone: string;
  payload: unknown;
  options: { max_attempts?: number; delay_seconds?: number };
  created_at: string;
  paused_at: string | null;
  last_fired_at: string | null;
  next_fire_at: string | null;
};

const noSchedule = (id: string) => refusal(404, `schedule ${id.slice(0, 100)} not found`);
const pathOf = (id: string) => `/v1/schedules/${tockSchedule(id)}`;

/** The names of all schedules that the key may see. */
async function namesOfSchedules(tock: CallTock): Promise<string[]> {
  const names: string[] = [];
  for (const queue of (await allowedQueues(tock)) ?? [null]) {
    for (let after: string | undefined; ; ) {
      const query = new URLSearchParams({ limit: String(PAGE) });
      if (queue) query.set('queue', queue);
      if (after) query.set('after', after);
      const { schedules } = expectOk(await tock('GET', `/v1/schedules?${query}`));
      names.push(...schedules.map(({ name }: { name: string }) => name));
      after = schedules.length === PAGE ? names.at(-1) : undefined;
      if (!after) break;
    }
  }
  return names;
}

/** The schedules whose name is one of QStash's, with that name. */
export async function listSchedulesOf<T>(
  tock: CallTock,
  nameOf: (schedule: string) => string | undefined,
): Promise<[name: string, schedule: T][]> {
  const names = (await namesOfSchedules(tock)).filter((name) => nameOf(name) !== undefined);
  const schedules: [string, T][] = [];
  const read = async (name: string) =>
    [nameOf(name), unlessMissing(await tock('GET', `/v1/schedules/${name}`))] as [string, T | null];
  for (let at = 0; at < names.length; at += AT_ONCE)
    for (const [name, schedule] of await Promise.all(names.slice(at, at + AT_ONCE).map(read)))
      if (schedule !== null) schedules.push([name, schedule]);
  return schedules;
}

/** `CRON_TZ=Europe/Berlin 0 4 * * *` has a time zone. */
function timingOf(cron: string): { cron: string; time_zone?: string } {
  const [, time_zone, rest] = /^(?:CRON_TZ|TZ)=(\S+)\s+(.*)$/.exec(cron) ?? [];
  return time_zone && rest ? { cron: rest, time_zone } : { cron };
}

/** Creates a schedule, or replaces it. */
export async function putSchedule(
  call: Call,
  destination: Destination,
  options: Options,
  body: Pick<Message, 'body' | 'base64'>,
): Promise<Response> {
  if ('group' in destination)
    throw refusal(501, 'Tock sends a schedule to a URL, not to a URL group.');
  if (!options.cron) throw refusal(400, 'Upstash-Cron: a cron expression');
  if (options.not_before !== undefined) throw refusal(400, 'Upstash-Not-Before: not in a schedule');
  checkCallbacks(options, call.env);
  const id = options.schedule ?? `scd_${crypto.randomUUID()}`;
  const path = pathOf(id);
  const queue = options.queue === undefined ? PUBLISHED : tockQueue(options.queue);
  const message = messageTo(destination.url, options, body, { schedule: id });
  const { payload, ...taskOptions } = taskOf(message, options, queue);
  await openQueue(call.tock, queue);
  const settings = { queue, payload, options: taskOptions, ...timingOf(options.cron) };
  expectOk(await call.tock('PUT', path, settings));
  if (options.flow) await setFlow(call.tock, options.flow);
  return json({ scheduleId: id }, 201);
}

export const createSchedule: Handler = async (call, destination = '') => {
  const options = optionsOf(call.headers);
  return putSchedule(
    call,
    destinationOf(destination, call.env),
    options,
    bodyOf(await call.bytes()),
  );
};

async function viewOf(id: string, schedule: Schedule) {
  const message = messageOf(schedule.payload);
  if (!message) return null;
  const { cron, time_zone, options, paused_at, last_fired_at, next_fire_at } = schedule;
  return {
    scheduleId: id,
    cron: time_zone === 'UTC' ? cron : `CRON_TZ=${time_zone} ${cron}`,
    destination: message.url,
    createdAt: time(schedule.created_at),
    isPaused: paused_at !== null,
    retries: (options.max_attempts ?? 1) - 1,
    delay: options.delay_seconds,
    queueName: qstashName(schedule.queue),
    ...(last_fired_at && { lastScheduleTime: time(last_fired_at) }),
    ...(next_fire_at && { nextScheduleTime: time(next_fire_at) }),
    ...(await contentOf(message)),
  };
}

export const getSchedule: Handler = async ({ tock }, id = '') => {
  const schedule = unlessMissing(await tock('GET', pathOf(id)));
  const view = schedule && (await viewOf(id, schedule));
  if (!view) throw noSchedule(id);
  return json(view);
};

export const listSchedules: Handler = async ({ tock }) => {
  const schedules = await listSchedulesOf<Schedule>(tock, qstashName);
  const views = await Promise.all(schedules.map(([id, schedule]) => viewOf(id, schedule)));
  return json(views.filter((view) => view !== null));
};

export const deleteSchedule: Handler = async ({ tock }, id = '') => {
  if (unlessMissing(await tock('DELETE', pathOf(id))) === null) throw noSchedule(id);
  return done();
};

const change =
  (verb: 'pause' | 'resume'): Handler =>
  async ({ tock }, id = '') => {
    if (unlessMissing(await tock('POST', `${pathOf(id)}/${verb}`, {})) === null)
      throw noSchedule(id);
    return done();
  };
export const pauseSchedule = change('pause');
export const resumeSchedule = change('resume');
