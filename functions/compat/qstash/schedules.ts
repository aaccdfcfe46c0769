import { refusal } from '../../http/problem.ts';
import type { CallTock } from '../adapter.ts';
import { expectOk } from '../calls.ts';
import { type Call, done, forEach, type Handler, json, unlessMissing } from './call.ts';
import { type Destination, destinationOf } from './destination.ts';
import { setFlow } from './flow_control.ts';
import { bodyOf, type Message, messageOf } from './message.ts';
import { PREFIX, PUBLISHED, qstashName, tockQueue, tockSchedule } from './names.ts';
import { type Options, optionsOf } from './options.ts';
import { readyQueue } from './queues.ts';
import { allowedQueues } from './search.ts';
import { checkCallbacks, messageTo, taskOf } from './task.ts';
import { contentOf, time } from './view.ts';

/** A list has up to this many. Tock's has no payloads, so each schedule is read. */
const MAX_LISTED = 1000;

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

/** The schedules with this prefix that the key may see, by the rest of their names. */
export async function listSchedulesOf<T>(
  tock: CallTock,
  prefix: string,
): Promise<[name: string, schedule: T][]> {
  const names: string[] = [];
  for (const queue of (await allowedQueues(tock)) ?? [null]) {
    // Tock lists by name, so those with the prefix come first.
    const query = new URLSearchParams({ after: prefix, limit: String(MAX_LISTED) });
    if (queue) query.set('queue', queue);
    const { schedules } = expectOk(await tock('GET', `/v1/schedules?${query}`));
    names.push(...schedules.map(({ name }: { name: string }) => name));
  }
  const own = names.filter((name) => name.startsWith(prefix)).slice(0, MAX_LISTED);
  const found = await forEach(own, async (name) => {
    const schedule = unlessMissing(await tock('GET', `/v1/schedules/${name}`));
    return schedule === null ? [] : [[name.slice(prefix.length), schedule] as [string, T]];
  });
  return found.flat();
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
    throw refusal(400, 'Tock sends a schedule to a URL, not to a URL group.');
  if (!options.cron) throw refusal(400, 'Upstash-Cron: a cron expression');
  if (options.not_before !== undefined) throw refusal(400, 'Upstash-Not-Before: not in a schedule');
  checkCallbacks(options, call.env);
  const id = options.schedule ?? `scd_${crypto.randomUUID()}`;
  const path = pathOf(id);
  const queue = options.queue === undefined ? PUBLISHED : tockQueue(options.queue);
  const message = messageTo(destination.url, options, body, { schedule: id });
  const { payload, ...taskOptions } = taskOf(message, options, queue);
  await readyQueue(call.tock, queue);
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
  const schedules = await listSchedulesOf<Schedule>(tock, PREFIX);
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
