import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { givenJson, givenPayload, whole } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, moreAfter, some, table } from '../table.ts';

type Schedule = Answer<'GET /v1/schedules'>['schedules'][number];
type Given = {
  cron?: string;
  every?: number;
  runAt?: string;
  zone?: string;
  payload?: string;
  options?: string;
  jitter?: number;
  starts?: string;
  ends?: string;
  overlap?: string;
  missed?: string;
  missedLimit?: number;
  missedAfter?: number;
  fireAs?: string;
  queue?: string;
  after?: string;
  limit?: number;
  count?: number;
  fires?: number;
  requestId?: string;
};

const unknown = (name: string) =>
  new Failure(`There is no schedule ${name}.`, 'tock schedule list shows all.', 3);

const timing = ({ cron, every_seconds, run_at, time_zone }: Schedule) =>
  cron !== null
    ? `${cron} (${time_zone})`
    : every_seconds !== null
      ? `every ${every_seconds} s`
      : `at ${moment(run_at)}`;

function told(schedule: Schedule): string {
  const { name, state, queue, next_fire_at, last_outcome, last_fired_at, last_error } = schedule;
  const lines = [`${name}: ${state}, ${timing(schedule)}, into ${queue}`];
  if (next_fire_at) lines.push(`next ${moment(next_fire_at)}`);
  if (last_outcome) lines.push(`last ${last_outcome} at ${moment(last_fired_at)}`);
  if (last_error) lines.push(`failed ${some(schedule.failures, 'time')} in a row: ${last_error}`);
  return `${lines.join('\n')}\n`;
}

/** The payload's JSON goes on as it came. */
async function settingsOf(queue: string, given: Given): Promise<string> {
  const settings = {
    queue,
    cron: given.cron,
    every_seconds: given.every,
    run_at: given.runAt,
    time_zone: given.zone,
    jitter_seconds: given.jitter,
    starts_at: given.starts,
    ends_at: given.ends,
    overlap: given.overlap,
    missed: given.missed,
    missed_limit: given.missedLimit,
    missed_after_seconds: given.missedAfter,
    fire_as: given.fireAs,
  };
  const payload = given.payload && (await givenPayload(given.payload));
  const options = given.options && (await givenJson(given.options, 'What --options has'));
  const more = `${payload ? `,"payload":${payload}` : ''}${options ? `,"options":${options}` : ''}`;
  return `${JSON.stringify(settings).slice(0, -1)}${more}}`;
}

async function put(name: string, queue: string, options: Options<Given>) {
  const body = await settingsOf(queue, options);
  const schedule = await withApi(options, (api) =>
    api.call('PUT /v1/schedules/{schedule}', { path: { schedule: name }, body }),
  );
  print(options, schedule, () => told(schedule));
}

async function list(options: Options<Given>) {
  const { queue, after, limit } = options;
  const { schedules: found } = await withApi(options, (api) =>
    api.call('GET /v1/schedules', { query: { queue, after, limit } }),
  );
  const rows = found.map((one) => [
    one.name,
    one.state,
    one.queue,
    timing(one),
    moment(one.next_fire_at),
    moment(one.last_fired_at),
    one.failures > 0 ? 'fails' : (one.last_outcome ?? ''),
  ]);
  print(options, { schedules: found }, () =>
    table([['schedule', 'state', 'queue', 'when', 'next', 'last', ''], ...rows]),
  );
  note(options, found.length === 0 && 'There are no schedules.');
  note(options, moreAfter(found.length, limit ?? 100, found.at(-1)?.name));
}

async function show(name: string, options: Options<Given>) {
  const { fires: count } = options;
  const path = { schedule: name };
  const { schedule, fired } = await withApi(options, async (api) => ({
    schedule: await api.find('GET /v1/schedules/{schedule}', { path }),
    fired:
      count === undefined
        ? { fires: [] }
        : await api.find('GET /v1/schedules/{schedule}/fires', { path, query: { limit: count } }),
  }));
  if (!schedule || !fired) throw unknown(name);
  const { fires } = fired;
  const rows = fires.map((one) => [
    moment(one.fire_at),
    one.outcome,
    one.task_id,
    one.error ?? (one.until_at ? `until ${moment(one.until_at)}` : ''),
  ]);
  print(options, count === undefined ? schedule : { ...schedule, fires }, () =>
    told(schedule).concat(rows.length > 0 ? table([['fire', '', 'task', ''], ...rows]) : ''),
  );
}

type Turn = (api: Api) => Promise<Schedule | null>;

async function turn(name: string, options: Options, verb: Turn) {
  const schedule = await withApi(options, verb);
  if (!schedule) throw unknown(name);
  print(options, schedule, () => told(schedule));
}

async function run(name: string, options: Options<Given>) {
  const { requestId = randomUUID() } = options;
  const given = { path: { schedule: name }, body: { request_id: requestId } };
  const made = await withApi(options, (api) =>
    api.find('POST /v1/schedules/{schedule}/run', given),
  );
  if (!made) throw unknown(name);
  print(options, made, () => `${made.id}\n`);
}

async function drop(name: string, options: Options) {
  const dropped = await withApi(options, (api) =>
    api.find('DELETE /v1/schedules/{schedule}', { path: { schedule: name } }),
  );
  if (!dropped) throw unknown(name);
  print(options, dropped, () => `${name} is dropped\n`);
}

/** A name has no space in it and no @, an expression one of them. */
async function next(what: string, options: Options<Given>) {
  const { count = 5, zone } = options;
  const isName = !/[\s@]/.test(what);
  if (zone !== undefined && isName) {
    throw new Failure('--zone is for an expression: a schedule has its own.', undefined, 2);
  }
  const found = await withApi(options, (api) =>
    isName
      ? api.find('GET /v1/schedules/{schedule}/next', {
          path: { schedule: what },
          query: { count },
        })
      : api.find('GET /v1/next-fires', { query: { cron: what, time_zone: zone, count } }),
  );
  if (!found) throw unknown(what);
  const { fires } = found;
  print(options, { fires }, () =>
    fires.map(({ fire_at, local_time }) => `${moment(fire_at)}Z  ${local_time}\n`).join(''),
  );
}

function addPut(schedule: Command): void {
  schedule
    .command('put <schedule> <queue>')
    .description('make a schedule or change it: what is left out is as by default')
    .option('--cron <expression>', "'0 3 * * MON-FRI', with seconds in front or not, or @daily")
    .option('--every <seconds>', 'a period: the one before plus this', whole(1, 315_360_000))
    .option('--run-at <instant>', 'once, like 2030-01-31T09:00:00Z')
    .option('--zone <name>', "the expression's time zone, like Europe/Berlin; else UTC")
    .option('--payload <json>', 'of its tasks; "-" reads it from stdin')
    .option('--options <json>', 'what its tasks ask for, like {"priority": 2}')
    .option('--jitter <seconds>', 'each fire up to so much later', whole(0, 86_400))
    .option('--starts <instant>', 'not before')
    .option('--ends <instant>', 'only before')
    .option('--overlap <rule>', 'while the last task has not ended: queue, skip or replace')
    .option('--missed <rule>', 'of fires that were missed: one, skip or all')
    .option('--missed-limit <n>', 'with all: so many at most', whole(1, 1000))
    .option('--missed-after <seconds>', 'from when on one is missed; else 60', whole(0, 86_400))
    .option('--fire-as <key>', "the payload's key that says which fire it is")
    .action((name: string, queue: string, _given, command: Command) =>
      put(name, queue, optionsOf(command)),
    );
}

export function addSchedule(program: Command): void {
  const schedule = program.command('schedule').description('what is enqueued by the clock');
  addPut(schedule);
  schedule
    .command('list')
    .description('schedules by name, with the next fire and the last')
    .option('--queue <queue>', 'those that fire into it')
    .option('--after <name>', 'on from this one')
    .option('--limit <n>', 'so many at most, 1 to 1000; else 100', whole(1, 1000))
    .action((_given, command: Command) => list(optionsOf(command)));
  schedule
    .command('show <schedule>')
    .description('when it fires next, and how it went')
    .option('--fires <n>', 'also what became of the last fires', whole(1, 1000))
    .action((name: string, _given, command: Command) => show(name, optionsOf(command)));
  schedule
    .command('pause <schedule>')
    .description('fire no more until it is resumed')
    .action((name: string, _given, command: Command) =>
      turn(name, optionsOf(command), (api) =>
        api.find('POST /v1/schedules/{schedule}/pause', { path: { schedule: name } }),
      ),
    );
  schedule
    .command('resume <schedule>')
    .description('go on with the next fire from now')
    .action((name: string, _given, command: Command) =>
      turn(name, optionsOf(command), (api) =>
        api.find('POST /v1/schedules/{schedule}/resume', { path: { schedule: name } }),
      ),
    );
  schedule
    .command('run <schedule>')
    .description("fire now, whatever is planned, and print the task's id")
    .option('--request-id <id>', 'the same again gives the same task')
    .action((name: string, _given, command: Command) => run(name, optionsOf(command)));
  schedule
    .command('drop <schedule>')
    .description('end it; its tasks stay')
    .action((name: string, _given, command: Command) => drop(name, optionsOf(command)));
  schedule
    .command('next <schedule-or-expression>')
    .description('the next fires, in UTC and by the clocks of the time zone')
    .option('--zone <name>', 'for an expression; else UTC')
    .option('--count <n>', 'how many, 1 to 1000; else 5', whole(1, 1000))
    .action((what: string, _given, command: Command) => next(what, optionsOf(command)));
}
