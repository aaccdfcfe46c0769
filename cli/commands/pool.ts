import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { withApi } from '../api.ts';
import { checkedId, wholeNumber } from '../arguments.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, moreAfter, table } from '../table.ts';

type Pool = Answer<'GET /v1/pools'>['pools'][number];
type Member = Answer<'GET /v1/pools/{pool}'>['members'][number];

const poolTable = (pools: Pool[]) =>
  table([
    ['pool', 'free', 'held', 'waiting'],
    ...pools.map(({ pool, free, held, waiting }) => [pool, free, held, waiting]),
  ]);

const memberTable = (members: Member[]) =>
  table([
    ['worker', 'state', 'task', 'fencing_token', 'until'],
    ...members.map(({ worker, state, task, fencing_token, leased_until }) => [
      worker,
      state,
      task,
      fencing_token,
      moment(leased_until),
    ]),
  ]);

type ListFlags = { waiting?: boolean; after?: string; limit?: number };

async function list(pool: string | undefined, options: Options<ListFlags>) {
  const { waiting, after, limit } = options;
  if (pool === undefined) {
    const { pools } = await withApi(options, (api) => api.call('GET /v1/pools'));
    print(options, { pools }, () => poolTable(pools));
    note(options, pools.length === 0 && 'There are no pools.');
  } else {
    const { members } = await withApi(options, (api) =>
      api.call('GET /v1/pools/{pool}', { path: { pool }, query: { waiting, after, limit } }),
    );
    const last = members.at(-1);
    const name = waiting ? last?.task : last?.worker;
    print(options, { members }, () => memberTable(members));
    note(options, members.length === 0 && 'The pool has no workers and no tasks.');
    note(options, moreAfter(members.length, limit ?? 1000, name));
  }
}

/** Output for shells: the assigned task (or worker) and its fencing token. Without one, stderr gets the reason. */
function printAssignment(
  options: Options,
  answer: { state: string; fencing_token: string | null },
  name: unknown,
) {
  print(options, answer, () => (name ? `${name}\t${answer.fencing_token}\n` : ''));
  const why =
    answer.state === 'none'
      ? 'no worker is free, or the given worker holds another task'
      : answer.state;
  if (!name && !options.json) process.stderr.write(`Nothing: ${why}.\n`);
}

async function join(pool: string, worker: string, options: Options<Flags>) {
  const fencing_token = options.fencingToken && checkedId(options.fencingToken);
  const answer = await withApi(options, (api) =>
    api.call('PUT /v1/pools/{pool}/workers/{worker}', {
      path: { pool, worker },
      body: { lease_seconds: options.lease, fencing_token },
    }),
  );
  const { state, task, leased_until } = answer;
  print(options, answer, () =>
    state === 'lost' ? '' : `${task ? `holds ${task}` : 'free'} until ${moment(leased_until)}\n`,
  );
  if (state !== 'lost') return;
  throw new Failure(
    `The assignment of ${worker} with fencing token ${fencing_token} has ended.`,
    'Discard the work, then join without --fencing-token.',
  );
}

async function leave(pool: string, worker: string, options: Options) {
  const path = { pool, worker };
  const answer = await withApi(options, (api) =>
    api.find('DELETE /v1/pools/{pool}/workers/{worker}', { path }),
  );
  if (!answer) throw new Failure(`There is no worker ${worker} in pool ${pool}.`, undefined, 3);
  print(options, answer, () => `${worker} has left\n`);
}

type Flags = {
  lease?: number;
  fencingToken?: string;
  worker?: string;
  wait?: boolean;
  again?: boolean;
};

async function assign(pool: string, task: string, options: Options<Flags>) {
  const { worker, lease, wait = false } = options;
  const body = { task, worker, lease_seconds: lease, wait };
  const answer = await withApi(options, (api) =>
    api.call('POST /v1/pools/{pool}/assign', { path: { pool }, body }),
  );
  printAssignment(options, answer, answer.worker);
}

async function assignAll(pool: string, tasks: string[], options: Options<Flags>) {
  if (options.worker !== undefined || options.wait) {
    throw new Failure('--worker and --wait are for a single task.', undefined, 2);
  }
  const body = { tasks, lease_seconds: options.lease };
  const { tasks: all } = await withApi(options, (api) =>
    api.call('POST /v1/pools/{pool}/assign-all', { path: { pool }, body }),
  );
  print(options, { tasks: all }, () =>
    table([
      ['task', 'state', 'worker', 'fencing_token'],
      ...all.map(({ task, state, worker, fencing_token }) => [task, state, worker, fencing_token]),
    ]),
  );
}

async function take(pool: string, worker: string, options: Options<Flags>) {
  const body = { worker, lease_seconds: options.lease };
  const answer = await withApi(options, (api) =>
    api.call('POST /v1/pools/{pool}/take', { path: { pool }, body }),
  );
  printAssignment(options, answer, answer.task);
}

async function add(pool: string, tasks: string[], options: Options) {
  const { added } = await withApi(options, (api) =>
    api.call('POST /v1/pools/{pool}/tasks', { path: { pool }, body: { tasks } }),
  );
  print(options, { added }, () => `${added} added\n`);
}

async function unassign(pool: string, task: string, options: Options<Flags>) {
  const fencing_token = options.fencingToken && checkedId(options.fencingToken);
  const again = options.again ?? false;
  const { unassigned } = await withApi(options, (api) =>
    api.call('POST /v1/pools/{pool}/unassign', {
      path: { pool },
      body: { task, fencing_token, again },
    }),
  );
  const result = again ? 'waits again' : 'is unassigned';
  print(options, { unassigned }, () =>
    unassigned
      ? `${task} ${result}\n`
      : `${task} is no longer assigned with fencing token ${fencing_token}\n`,
  );
}

export function addPool(program: Command): void {
  const pool = program
    .command('pool')
    .description('pools of workers, each of which holds at most one task');
  const lease = [
    '--lease <seconds>',
    'duration from now, 1 to 86400; default: as before, or 60',
    wholeNumber(1, 86_400),
  ] as const;
  pool
    .command('list [pool]')
    .description('list all pools, or the workers of one')
    .option('--waiting', 'list the waiting tasks instead of the workers')
    .option('--after <name>', 'continue after this worker or task')
    .option('--limit <n>', 'maximum number of entries, 1 to 1000', wholeNumber(1, 1000))
    .action((name: string | undefined, _options, command: Command) =>
      list(name, optionsOf(command)),
    );
  pool
    .command('join <pool> <worker>')
    .description("join a pool or send a heartbeat; prints the worker's task")
    .option(...lease)
    .option(
      '--fencing-token <number>',
      'a heartbeat for this assignment only; exit code 1 if it has ended',
    )
    .action((name: string, worker: string, _options, command: Command) =>
      join(name, worker, optionsOf(command)),
    );
  pool
    .command('leave <pool> <worker>')
    .description('remove a worker: an added task waits again, an assigned task ends its assignment')
    .action((name: string, worker: string, _options, command: Command) =>
      leave(name, worker, optionsOf(command)),
    );
  pool
    .command('assign <pool> <task...>')
    .description(
      'assign a task to a free worker: prints the worker, a tab and the fencing token; or several tasks to one worker each',
    )
    .option('--worker <name>', 'this worker, even if it has not joined')
    .option('--wait', 'if no worker is free, wait until one takes the task')
    .option(...lease)
    .action((name: string, [task = '', ...more]: string[], _options, command: Command) =>
      more.length === 0
        ? assign(name, task, optionsOf(command))
        : assignAll(name, [task, ...more], optionsOf(command)),
    );
  pool
    .command('take <pool> <worker>')
    .description(
      "take the oldest task, or return the worker's current task: prints the task, a tab and the fencing token",
    )
    .option(...lease)
    .action((name: string, worker: string, _options, command: Command) =>
      take(name, worker, optionsOf(command)),
    );
  pool
    .command('add <pool> <task...>')
    .description('add tasks to a pool, which workers take')
    .action((name: string, tasks: string[], _options, command: Command) =>
      add(name, tasks, optionsOf(command)),
    );
  pool
    .command('unassign <pool> <task>')
    .description('remove a task from a pool; its worker is free again')
    .option('--fencing-token <number>', 'only if it still has this fencing token')
    .option('--again', 'let the task wait for another worker')
    .action((name: string, task: string, _options, command: Command) =>
      unassign(name, task, optionsOf(command)),
    );
}
