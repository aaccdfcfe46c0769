import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { jsonArgument, payloadArgument, wholeNumber } from '../arguments.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, moreAfter, plural, table } from '../table.ts';

type Schedule = Answer<'GET /v1/schedules'>['schedules'][number];
type Flags = {
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

const unknownSchedule = (name: string) =>
  new Failure(`There is no schedule ${name}.`, 'See: tock schedule list', 3);

const timing = ({ cron, every_seconds, run_at, time_zone }: Schedule) =>
  cron !== null
    ? `${cron} (${time_zone})`
    : every_seconds !== null
      ? `every ${every_seconds} s`
      : `at ${moment(run_at)}`;

function describe(schedule: Schedule): string {
  const { name, state, queue, next_fire_at, last_outcome, last_fired_at, last_error } = schedule;
  const lines = [`${name}: ${state}, ${timing(schedule)}, into ${queue}`];
  if (next_fire_at) lines.push(`next ${moment(next_fire_at)}`);
  if (last_outcome) lines.push(`last ${last_outcome} at ${moment(last_fired_at)}`);
  if (last_error) lines.push(`the last ${plural(schedule.failures, 'fire')} failed: ${last_error}`);
  return `${lines.join('\n')}\n`;
}

/** The settings as JSON text, so that the payload keeps its exact form. */
async function buildSettings(queue: string, flags: Flags): Promise<string> {
  const settings = {
    queue,
    cron: flags.cron,
    every_seconds: flags.every,
    run_at: flags.runAt,
    time_zone: flags.zone,
    jitter_seconds: flags.jitter,
    starts_at: flags.starts,
    ends_at: flags.ends,
    overlap: flags.overlap,
    missed: flags.missed,
    missed_limit: flags.missedLimit,
    missed_after_seconds: flags.missedAfter,
    fire_as: flags.fireAs,
  };
  const payload = flags.payload && (await payloadArgument(flags.payload));
  const options = flags.options && (await jsonArgument(flags.options, 'The value of --options'));
  const jsonFields = `${payload ? `,"payload":${payload}` : ''}${options ? `,"options":${options}` : ''}`;
  return `${JSON.stringify(settings).slice(0, -1)}${jsonFields}}`;
}

async function putSchedule(name: string, queue: string, options: Options<Flags>) {
  const body = await buildSettings(queue, options);
  const schedule = await withApi(options, (api) =>
    api.call('PUT /v1/schedules/{schedule}', { path: { schedule: name }, body }),
  );
  print(options, schedule, () => describe(schedule));
}

async function list(options: Options<Flags>) {
  const { queue, after, limit } = options;
  const { schedules } = await withApi(options, (api) =>
    api.call('GET /v1/schedules', { query: { queue, after, limit } }),
  );
  const rows = schedules.map((entry) => [
    entry.name,
    entry.state,
    entry.queue,
    timing(entry),
    moment(entry.next_fire_at),
    moment(entry.last_fired_at),
    entry.failures > 0 ? 'fails' : (entry.last_outcome ?? ''),
  ]);
  print(options, { schedules }, () =>
    table([['schedule', 'state', 'queue', 'when', 'next', 'last', ''], ...rows]),
  );
  note(options, schedules.length === 0 && 'There are no schedules.');
  note(options, moreAfter(schedules.length, limit ?? 100, schedules.at(-1)?.name));
}

async function showSchedule(name: string, options: Options<Flags>) {
  const { fires: count } = options;
  const path = { schedule: name };
  const { schedule, fired: history } = await withApi(options, async (api) => ({
    schedule: await api.find('GET /v1/schedules/{schedule}', { path }),
    fired:
      count === undefined
        ? { fires: [] }
        : await api.find('GET /v1/schedules/{schedule}/fires', { path, query: { limit: count } }),
  }));
  if (!schedule || !history) throw unknownSchedule(name);
  const { fires } = history;
  const rows = fires.map((entry) => [
    moment(entry.fire_at),
    entry.outcome,
    entry.task_id,
    entry.error ?? (entry.until_at ? `until ${moment(entry.until_at)}` : ''),
  ]);
  print(options, count === undefined ? schedule : { ...schedule, fires }, () =>
    describe(schedule).concat(rows.length > 0 ? table([['fire', '', 'task', ''], ...rows]) : ''),
  );
}

type Verb = (api: Api) => Promise<Schedule | null>;

async function pauseOrResume(name: string, options: Options, verb: Verb) {
  const schedule = await withApi(options, verb);
  if (!schedule) throw unknownSchedule(name);
  print(options, schedule, () => describe(schedule));
}

async function run(name: string, options: Options<Flags>) {
  const { requestId = randomUUID() } = options;
  const input = { path: { schedule: name }, body: { request_id: requestId } };
  const task = await withApi(options, (api) =>
    api.find('POST /v1/schedules/{schedule}/run', input),
  );
  if (!task) throw unknownSchedule(name);
  print(options, task, () => `${task.id}\n`);
}

async function drop(name: string, options: Options) {
  const dropped = await withApi(options, (api) =>
    api.find('DELETE /v1/schedules/{schedule}', { path: { schedule: name } }),
  );
  if (!dropped) throw unknownSchedule(name);
  print(options, dropped, () => `${name} is dropped\n`);
}

/** Shows the next fires of a schedule or an expression. A cron expression has a space or an @; a name has neither. */
async function next(nameOrExpression: string, options: Options<Flags>) {
  const { count = 5, zone } = options;
  const isName = !/[\s@]/.test(nameOrExpression);
  if (zone !== undefined && isName) {
    throw new Failure(
      '--zone is for an expression: a schedule has its own time zone.',
      undefined,
      2,
    );
  }
  const answer = await withApi(options, (api) =>
    isName
      ? api.find('GET /v1/schedules/{schedule}/next', {
          path: { schedule: nameOrExpression },
          query: { count },
        })
      : api.find('GET /v1/next-fires', {
          query: { cron: nameOrExpression, time_zone: zone, count },
        }),
  );
  if (!answer) throw unknownSchedule(nameOrExpression);
  const { fires } = answer;
  print(options, { fires }, () =>
    fires.map(({ fire_at, local_time }) => `${moment(fire_at)}Z  ${local_time}\n`).join(''),
  );
}

function addPut(schedule: Command): void {
  schedule
    .command('put <schedule> <queue>')
    .description('create or replace a schedule; omitted settings take their defaults')
    .option(
      '--cron <expression>',
      "like '0 3 * * MON-FRI', with or without leading seconds, or @daily",
    )
    .option('--every <seconds>', 'seconds from each fire to the next', wholeNumber(1, 315_360_000))
    .option('--run-at <instant>', 'once, like 2030-01-31T09:00:00Z')
    .option('--zone <name>', 'time zone of the expression, like Europe/Berlin; default: UTC')
    .option('--payload <json>', 'payload of its tasks; "-" reads it from stdin')
    .option('--options <json>', 'options of its tasks, like {"priority": 2}')
    .option('--jitter <seconds>', 'maximum random delay of each fire', wholeNumber(0, 86_400))
    .option('--starts <instant>', 'first possible fire')
    .option('--ends <instant>', 'no fires from this time on')
    .option('--overlap <rule>', 'if the last task has not ended: queue, skip or replace')
    .option('--missed <rule>', 'missed fires to catch up: one, skip or all')
    .option('--missed-limit <n>', 'with all: maximum number of tasks', wholeNumber(1, 1000))
    .option(
      '--missed-after <seconds>',
      'a fire this late is missed; default 60',
      wholeNumber(0, 86_400),
    )
    .option('--fire-as <key>', 'payload key that receives the time of the fire')
    .action((name: string, queue: string, _options, command: Command) =>
      putSchedule(name, queue, optionsOf(command)),
    );
}

export function addSchedule(program: Command): void {
  const schedule = program
    .command('schedule')
    .description('manage schedules, which enqueue tasks at set times');
  addPut(schedule);
  schedule
    .command('list')
    .description('list schedules by name, with their next and last fire')
    .option('--queue <queue>', 'schedules that fire into this queue')
    .option('--after <name>', 'continue after this name')
    .option(
      '--limit <n>',
      'maximum number of schedules, 1 to 1000; default 100',
      wholeNumber(1, 1000),
    )
    .action((_options, command: Command) => list(optionsOf(command)));
  schedule
    .command('show <schedule>')
    .description('show its settings, its next fire and the last result')
    .option('--fires <n>', 'also list its last fires with their results', wholeNumber(1, 1000))
    .action((name: string, _options, command: Command) => showSchedule(name, optionsOf(command)));
  schedule
    .command('pause <schedule>')
    .description('do not fire until it is resumed')
    .action((name: string, _options, command: Command) =>
      pauseOrResume(name, optionsOf(command), (api) =>
        api.find('POST /v1/schedules/{schedule}/pause', { path: { schedule: name } }),
      ),
    );
  schedule
    .command('resume <schedule>')
    .description('resume at the next fire from now')
    .action((name: string, _options, command: Command) =>
      pauseOrResume(name, optionsOf(command), (api) =>
        api.find('POST /v1/schedules/{schedule}/resume', { path: { schedule: name } }),
      ),
    );
  schedule
    .command('run <schedule>')
    .description("fire now, independently of its times, and print the task's id")
    .option('--request-id <id>', 'with the same id a repeated call returns the same task')
    .action((name: string, _options, command: Command) => run(name, optionsOf(command)));
  schedule
    .command('drop <schedule>')
    .description('delete it; its tasks stay')
    .action((name: string, _options, command: Command) => drop(name, optionsOf(command)));
  schedule
    .command('next <schedule-or-expression>')
    .description('show the next fires, in UTC and in the time zone')
    .option('--zone <name>', 'for an expression; default: UTC')
    .option('--count <n>', 'number of fires, 1 to 1000; default 5', wholeNumber(1, 1000))
    .action((nameOrExpression: string, _options, command: Command) =>
      next(nameOrExpression, optionsOf(command)),
    );
}
