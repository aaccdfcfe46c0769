import { chosen, type Random } from '../soak/clock.ts';
import type { Ask } from './facts.ts';
import { caps, rates, stages } from './queues.ts';

/** A call's tasks, as they are sent and as they are remembered. */
export type Batch = { queue: string; tasks: Record<string, unknown>[]; asks: Ask[] };

type Kind = (task: Record<string, unknown>, ask: Ask, random: Random, at: number) => void;

// Delayed ones are left alone by those who change tasks.
const plain: Kind = (task, ask, random) => {
  if (random(25) === 0) {
    task.tenant = 'unwanted';
    ask.unwanted = true;
  } else if (random(3) === 0) task.tenant = random(2) ? 'heavy' : `tenant-${random(20)}`;
  if (random(3) === 0) task.priority = 3 + random(4);
};

const delayed: Kind = (task, ask, random) => {
  const seconds = random(4000) / 1000;
  task.delay_seconds = seconds;
  ask.due = ask.sent + seconds * 1000;
};

const gated: Kind = (task, ask, random) => {
  ask.gate = `gate-${random(4)}`;
  task.gate = ask.gate;
  if (random(6) === 0) task.priority = random(10);
};

const keyed: Kind = (task, ask, random) => {
  ask.unique = `key-${random(30)}`;
  Object.assign(task, { unique_key: ask.unique, on_conflict: 'keep', unique_policy: 'unfinished' });
};

const purged: Kind = (_task, ask) => {
  ask.unwanted = true;
};

const newest: Kind = (task, ask, random) => {
  ask.unique = `newest-${random(10)}`;
  ask.replaced = true;
  const policy = { on_conflict: 'replace', unique_policy: 'pending' };
  Object.assign(task, { unique_key: ask.unique, ...policy, delay_seconds: random(500) / 1000 });
};

/** Each call is a family: the last comes after all others, one in the middle after the first. */
const family: Kind = (task, ask, random, at) => {
  task.name = `member ${at}`;
  if (at === 0) return;
  task.after = random(2) ? ['*'] : ['member 0'];
  const elder = task.after as string[];
  ask.parents = Array.from({ length: elder[0] === '*' ? at : 1 }, (_, n) => ask.n - at + n);
  task.on_parent_failure = chosen(random, [
    [2, 'cancel'],
    [1, 'run'],
  ]);
  // One that runs all the same may come before a parent was completed: it failed.
  if (task.on_parent_failure === 'run') delete ask.parents;
  if (random(2)) task.gather = true;
};

const pipeline: Kind = (task) => {
  task.pipeline = stages;
};

const brief: Kind = (task, ask, random) => {
  const seconds = 1 + random(5000) / 1000;
  task.expires_at = new Date(ask.sent + seconds * 1000).toISOString();
  ask.expires = ask.sent + seconds * 1000;
};

const kinds: [share: number, [queue: string, kind: Kind]][] = [
  [12, ['plain', plain]],
  [5, ['plain', delayed]],
  [6, ['one', gated]],
  [4, ['three', gated]],
  [3, ['yielding', gated]],
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
];

const sizes: [share: number, most: number][] = [
  [60, 1],
  [30, 5],
  [8, 25],
  [2, 100],
];

/** The tasks of one call, with numbers from `take`. */
export function batchOf(random: Random, call: string, take: (many: number) => number): Batch {
  const [queue, kind] = chosen(random, kinds);
  // Fewer would never come to a bound.
  const least = queue in caps || queue in rates ? 8 : 1;
  const many = least + random(chosen(random, sizes));
  const first = take(many);
  const sent = Date.now();
  const asks: Ask[] = [];
  const tasks = Array.from({ length: many }, (_, at) => {
    const ask: Ask = { n: first + at, call, queue, sent, fate: 'unsure' };
    const task: Record<string, unknown> = { payload: { n: ask.n, v: 0 } };
    kind(task, ask, random, at);
    asks.push(ask);
    return task;
  });
  return { queue, tasks, asks };
}
