import type { TaskRequest } from '../journal.ts';
import { chosen, type Random } from '../random.ts';
import { bounds, stages } from './queues.ts';

/** The tasks of one call, as sent and as recorded in the journal. */
export type Batch = { queue: string; tasks: Record<string, unknown>[]; requests: TaskRequest[] };

type Kind = (
  task: Record<string, unknown>,
  request: TaskRequest,
  random: Random,
  at: number,
) => void;

const plain: Kind = (task, request, random) => {
  if (random(25) === 0) {
    task.tenant = 'unwanted';
    request.unwanted = true;
  } else if (random(3) === 0) task.tenant = random(2) ? 'heavy' : `tenant-${random(20)}`;
  if (random(3) === 0) task.priority = 3 + random(4);
  if (random(20) === 0) task.max_attempts = 1 + random(3);
  if (random(50) === 0) Object.assign(task.payload as object, { text: 'x'.repeat(random(3000)) });
};

// The load changes no delayed task, because its time would then be unknown.
const delayed: Kind = (task, request, random) => {
  const seconds = random(4000) / 1000;
  task.delay_seconds = seconds;
  request.due = request.sent + seconds * 1000;
};

const limited: Kind = (task, request, random) => {
  request.concurrency_key = `key-${random(4)}`;
  task.concurrency_key = request.concurrency_key;
  if (random(6) === 0) task.priority = random(10);
};

const keyed: Kind = (task, request, random) => {
  request.unique = `key-${random(30)}`;
  Object.assign(task, {
    unique_key: request.unique,
    on_conflict: 'keep',
    unique_policy: 'unfinished',
  });
};

const purged: Kind = (_task, request) => {
  request.unwanted = true;
};

const newest: Kind = (task, request, random) => {
  request.unique = `newest-${random(10)}`;
  request.replaced = true;
  const policy = { on_conflict: 'replace', unique_policy: 'pending' };
  Object.assign(task, { unique_key: request.unique, ...policy, delay_seconds: random(500) / 1000 });
};

/** Each call is a family: a task depends on the first task of the call, or on all tasks before it. */
const family: Kind = (task, request, random, at) => {
  task.name = `member ${at}`;
  if (at === 0) return;
  task.depends_on = random(2) ? ['*'] : ['member 0'];
  const elder = task.depends_on as string[];
  request.parents = Array.from({ length: elder[0] === '*' ? at : 1 }, (_, n) => request.n - at + n);
  task.on_parent_failure = chosen(random, [
    [2, 'cancel'],
    [1, 'run'],
  ]);
  // With `run` the task also starts after a parent that failed, so the checker ignores its parents.
  if (task.on_parent_failure === 'run') delete request.parents;
  if (random(2)) task.include_results = true;
};

const pipeline: Kind = (task) => {
  task.pipeline = stages;
};

const brief: Kind = (task, request, random) => {
  const seconds = 1 + random(5000) / 1000;
  task.expires_at = new Date(request.sent + seconds * 1000).toISOString();
  request.expires = request.sent + seconds * 1000;
};

const kinds: [share: number, [queue: string, kind: Kind]][] = [
  [12, ['plain', plain]],
  [5, ['plain', delayed]],
  [6, ['one', limited]],
  [4, ['three', limited]],
  [3, ['yielding', limited]],
  [5, ['keyed', keyed]],
  [10, ['family', family]],
  [6, ['first', pipeline]],
  [4, ['spawning', plain]],
  [4, ['brief', brief]],
  [4, ['broken', plain]],
  [4, ['capped', plain]],
  [3, ['paced', plain]],
  [4, ['newest', newest]],
  [2, ['purged', purged]],
  [2, ['pushed', () => {}]],
  [6, ['steps', () => {}]],
];

const sizes: [share: number, most: number][] = [
  [60, 1],
  [30, 5],
  [8, 25],
  [2, 100],
];

/** Calls with plain tasks may also be large, so that they fill leases, streams and pages. */
const large: [share: number, most: number][] = [...sizes, [3, 500], [1, 1000]];

/** Creates the tasks of one call. `take` reserves their numbers. */
export function createBatch(random: Random, call: string, take: (many: number) => number): Batch {
  const [queue, kind] = chosen(random, kinds);
  // A call with fewer tasks would never reach the queue's limit.
  const least = queue in bounds.caps || queue in bounds.rates ? 8 : 1;
  const many = least + random(chosen(random, queue === 'plain' ? large : sizes));
  const first = take(many);
  const sent = Date.now();
  const requests: TaskRequest[] = [];
  const tasks = Array.from({ length: many }, (_, at) => {
    const request: TaskRequest = { n: first + at, call, queue, sent, fate: 'unsure' };
    const task: Record<string, unknown> = { payload: { n: request.n, v: 0 } };
    kind(task, request, random, at);
    requests.push(request);
    return task;
  });
  return { queue, tasks, requests };
}
