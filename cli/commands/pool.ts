import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { Failure } from '../../migrate/failure.ts';
import { withApi } from '../api.ts';
import { checkedId, whole } from '../given.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, moreAfter, table } from '../table.ts';

type Pool = Answer<'GET /v1/pools'>['pools'][number];
type Place = Answer<'GET /v1/pools/{pool}'>['places'][number];

const counted = (pools: Pool[]) =>
  table([
    ['pool', 'free', 'held', 'waiting'],
    ...pools.map(({ pool, free, held, waiting }) => [pool, free, held, waiting]),
  ]);

const shown = (places: Place[]) =>
  table([
    ['worker', 'state', 'task', 'fencing_token', 'until'],
    ...places.map(({ worker, state, task, fencing_token, leased_until }) => [
      worker,
      state,
      task,
      fencing_token,
      moment(leased_until),
    ]),
  ]);

type Look = { waiting?: boolean; after?: string; limit?: number };

async function list(pool: string | undefined, options: Options<Look>) {
  const { waiting, after, limit } = options;
  if (pool === undefined) {
    const { pools } = await withApi(options, (api) => api.call('GET /v1/pools'));
    print(options, { pools }, () => counted(pools));
    note(options, pools.length === 0 && 'There are no pools.');
  } else {
    const { places } = await withApi(options, (api) =>
      api.call('GET /v1/pools/{pool}', { path: { pool }, query: { waiting, after, limit } }),
    );
    const last = places.at(-1);
    const name = waiting ? last?.task : last?.worker;
    print(options, { places }, () => shown(places));
    note(options, places.length === 0 && 'Nobody is there, and nothing.');
    note(options, moreAfter(places.length, limit ?? 1000, name));
  }
}

/** For a shell to read: what was found and its fence, or nothing and why on stderr. */
function told(
  options: Options,
  answer: { state: string; fencing_token: string | null },
  name: unknown,
) {
  print(options, answer, () => (name ? `${name}\t${answer.fencing_token}\n` : ''));
  const why =
    answer.state === 'none' ? 'nobody is free, or the worker holds another' : answer.state;
  if (!name && !options.json) process.stderr.write(`Nothing: ${why}.\n`);
}

async function join(pool: string, worker: string, options: Options<Given>) {
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
    `${worker} no longer holds what it had with fence ${fencing_token}.`,
    'Drop the work, then join without --fencing-token.',
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

type Given = {
  lease?: number;
  fencingToken?: string;
  worker?: string;
  wait?: boolean;
  again?: boolean;
};

async function assign(pool: string, task: string, options: Options<Given>) {
  const { worker, lease, wait = false } = options;
  const body = { task, worker, lease_seconds: lease, wait };
  const answer = await withApi(options, (api) =>
    api.call('POST /v1/pools/{pool}/assign', { path: { pool }, body }),
  );
  told(options, answer, answer.worker);
}

async function assignAll(pool: string, tasks: string[], options: Options<Given>) {
  if (options.worker !== undefined || options.wait) {
    throw new Failure('--worker and --wait are for one task.', undefined, 2);
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

async function take(pool: string, worker: string, options: Options<Given>) {
  const body = { worker, lease_seconds: options.lease };
  const answer = await withApi(options, (api) =>
    api.call('POST /v1/pools/{pool}/take', { path: { pool }, body }),
  );
  told(options, answer, answer.task);
}

async function offer(pool: string, tasks: string[], options: Options) {
  const { added } = await withApi(options, (api) =>
    api.call('POST /v1/pools/{pool}/tasks', { path: { pool }, body: { tasks } }),
  );
  print(options, { added }, () => `${added} added\n`);
}

async function unassign(pool: string, task: string, options: Options<Given>) {
  const fencing_token = options.fencingToken && checkedId(options.fencingToken);
  const again = options.again ?? false;
  const { unassigned } = await withApi(options, (api) =>
    api.call('POST /v1/pools/{pool}/unassign', {
      path: { pool },
      body: { task, fencing_token, again },
    }),
  );
  const now = again ? 'waits again' : 'is over';
  print(options, { unassigned }, () =>
    unassigned ? `${task} ${now}\n` : `${task} is no longer held under ${fencing_token}\n`,
  );
}

export function addPool(program: Command): void {
  const pool = program
    .command('pool')
    .description('pools of workers, each of which holds one task at most');
  const lease = [
    '--lease <seconds>',
    'how long from now, 1 to 86400; else as before, or 60',
    whole(1, 86_400),
  ] as const;
  pool
    .command('list [pool]')
    .description('all pools, or who is where in one')
    .option('--waiting', 'the tasks that wait, instead of the workers')
    .option('--after <name>', 'on from this worker or task')
    .option('--limit <n>', 'so many at most, 1 to 1000', whole(1, 1000))
    .action((name: string | undefined, _given, command: Command) => list(name, optionsOf(command)));
  pool
    .command('join <pool> <worker>')
    .description('make a worker free, or its heartbeat: says what it holds')
    .option(...lease)
    .option(
      '--fencing-token <number>',
      'a heartbeat for this holding alone; exit code 1 when it is over',
    )
    .action((name: string, worker: string, _given, command: Command) =>
      join(name, worker, optionsOf(command)),
    );
  pool
    .command('leave <pool> <worker>')
    .description('take a worker out: an offered task waits again, another is over')
    .action((name: string, worker: string, _given, command: Command) =>
      leave(name, worker, optionsOf(command)),
    );
  pool
    .command('assign <pool> <task...>')
    .description(
      'give a task to one free worker: prints it, tab, and the fence; or each of several to one',
    )
    .option('--worker <name>', 'to this one, whether it has joined or not')
    .option('--wait', 'where nobody is free, until a worker takes it')
    .option(...lease)
    .action((name: string, [task = '', ...more]: string[], _given, command: Command) =>
      more.length === 0
        ? assign(name, task, optionsOf(command))
        : assignAll(name, [task, ...more], optionsOf(command)),
    );
  pool
    .command('take <pool> <worker>')
    .description('take the oldest task, or hear of the one that is held: prints it, tab, the fence')
    .option(...lease)
    .action((name: string, worker: string, _given, command: Command) =>
      take(name, worker, optionsOf(command)),
    );
  pool
    .command('offer <pool> <task...>')
    .description('put tasks into a pool, for workers to take')
    .action((name: string, tasks: string[], _given, command: Command) =>
      offer(name, tasks, optionsOf(command)),
    );
  pool
    .command('unassign <pool> <task>')
    .description('take a task out of a pool; its worker is free again')
    .option('--fencing-token <number>', 'only while that holding goes on')
    .option('--again', 'let it wait for another worker')
    .action((name: string, task: string, _given, command: Command) =>
      unassign(name, task, optionsOf(command)),
    );
}
