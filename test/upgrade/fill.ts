import type pg from 'pg';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  numbered,
  promote,
  type Run,
  release,
} from '../sql/support.ts';

export type Open = {
  queue: string;
  lease: string;
  runs: Run[];
  /** The tasks in it that have not ended, and how many were completed before. */
  left: string[];
  done: number;
  /** Whether some of it lies in another epoch than its token says. */
  crosses: boolean;
};

export type Filled = {
  /** Every task's payload by its id. */
  tasks: Map<string, unknown>;
  dead: string[];
  /** Leases still open. */
  open: Open[];
  key: string;
};

type Hand = {
  client: pg.Client;
  filled: Filled;
  give: (queue: string, count: number, options?: object) => Promise<string[]>;
  take: (queue: string, count: number, options?: object) => Promise<Run[]>;
  leave: (
    queue: string,
    runs: Run[],
    more?: { left?: Run[]; done?: number; crosses?: true },
  ) => void;
};

// As the release had it, whatever the verb takes by now.
const reap = (client: pg.Client) => client.query('select tock.reap()');

const ids = (runs: Run[]) => runs.map((run) => run.id);
const first = (runs: Run[], count: number) => ids(runs).slice(0, count);
const results = (runs: Run[], count: number) =>
  first(runs, count).map((id) => ({ id, result: id }));

/** Within one epoch: a lease of each kind, and what waits, sleeps, died or is paused. */
async function ordinary({ client, filled, give, take, leave }: Hand): Promise<void> {
  await give('plain', 40);
  leave('plain', await take('plain', 5));
  const half = await take('plain', 5);
  await complete(client, leaseOf(half), results(half, 2));
  await fail(client, leaseOf(half), [{ id: half[2]?.id, retry_in_seconds: 0 }]);
  await release(client, leaseOf(half), [half[3]?.id as string]);
  leave('plain', half, { left: half.slice(4), done: 2 });
  await complete(client, leaseOf(await take('plain', 5)));
  await fail(client, leaseOf(await take('plain', 3)), { error: { name: 'Later' } });
  const lost = await take('plain', 4);
  await complete(client, leaseOf(lost), results(lost, 1));
  await expire(client, leaseOf(lost));
  await reap(client);
  leave('plain', await take('plain', 2, { request_id: 'once', worker: 'w' }));

  await client.query(
    `select tock.put_queue(p_queue => 'dead', p_policy => '{"max_attempts": 1, "max_lost": 1}')`,
  );
  filled.dead.push(...(await give('dead', 4)));
  await fail(client, leaseOf(await take('dead', 2)), { error: { name: 'No' } });
  await expire(client, leaseOf(await take('dead', 2)));
  await reap(client);

  await give('delayed', 3, { delay_seconds: 3600 });
  await makeDue(client, 'delayed');
  await promote(client);
  leave('delayed', await take('delayed', 1));
  await give('delayed', 2, { delay_seconds: 7200, priority: 2 });
  await give('due', 2, { delay_seconds: 3600 });
  await makeDue(client, 'due');

  await give('sleeping', 3);
  await complete(client, leaseOf(await take('sleeping', 3)));
  await give('paused', 3);
  await client.query(`select tock.put_queue(p_queue => 'paused', p_policy => '{"paused": true}')`);
  for (const priority of [1, 5, 9]) await give('mixed', 3, { priority, tenant: `t${priority}` });
  leave('mixed', await take('mixed', 4));
}

const crossing = ['complete', 'parts', 'done', 'lost', 'ready'];

/** Where the first epoch ends. */
export const edge = 16777216;
const goTo = (client: pg.Client, position: number) =>
  client.query("select setval('tock.positions', $1)", [position - 1]);

/** The old claim went over the edges of epochs; and what begins just at one. */
async function edges({ client, give, take, leave }: Hand): Promise<void> {
  await give('wide', 3);
  for (const queue of ['far', 'far-done', 'brim']) {
    await give(queue, 1);
    await complete(client, leaseOf(await take(queue, 1)));
  }
  await goTo(client, edge - 40);
  for (const kind of crossing) await give(`edge-${kind}`, 3);
  await goTo(client, edge - 1);
  await give('brim', 1);
  await complete(client, leaseOf(await take('brim', 1)));
  for (const kind of crossing) await give(`edge-${kind}`, 3);
  for (const queue of ['far', 'far-done', 'brim', 'wide']) await give(queue, 3);
  leave('edge-complete', await take('edge-complete', 6), { crosses: true });
  const parts = await take('edge-parts', 6);
  await complete(client, leaseOf(parts), [...results(parts, 1), ...results(parts.slice(4), 1)]);
  await fail(client, leaseOf(parts), [{ id: parts[1]?.id }, { id: parts[5]?.id }]);
  leave('edge-parts', parts, { left: parts.slice(2, 4), crosses: true });
  await complete(client, leaseOf(await take('edge-done', 6)));
  const lost = await take('edge-lost', 6);
  await complete(client, leaseOf(lost), results(lost, 1));
  await expire(client, leaseOf(lost));
  await reap(client);
  await complete(client, leaseOf(await take('edge-ready', 2)));
  leave('far', await take('far', 3), { crosses: true });
  await complete(client, leaseOf(await take('far-done', 3)));
  leave('brim', await take('brim', 2), { crosses: true });
  leave('brim', await take('brim', 1));
  await client.query('select tock.rotate(), tock.rest()');

  await goTo(client, 2 * edge - 1);
  await give('born', 2);
  leave('born', await take('born', 1), { crosses: true });
  await give('wide', 3);
  leave('wide', await take('wide', 8), { crosses: true });
  await client.query('select tock.rotate()');
}

/** A released database with some of everything in it, made by the verbs it had then. */
export async function fill(client: pg.Client): Promise<Filled> {
  const { rows } = await client.query(
    "select key from tock.create_key('old', '{claim}', '{plain}')",
  );
  const filled: Filled = { tasks: new Map(), dead: [], open: [], key: rows[0].key };
  const give: Hand['give'] = async (queue, count, options = {}) => {
    const from = filled.tasks.size;
    const given = await enqueue(client, queue, numbered(count, from, options), `r${from}`);
    for (const [n, id] of given.entries()) filled.tasks.set(id, from + n);
    return given;
  };
  const take: Hand['take'] = async (queue, limit, options = {}) => {
    const runs = await claim(client, queue, { limit, lease_seconds: 3600, ...options });
    if (runs.length !== limit) throw new Error(`${queue} gave ${runs.length} of ${limit} runs.`);
    return runs;
  };
  const leave: Hand['leave'] = (queue, runs, { left = runs, done = 0, crosses = false } = {}) => {
    filled.open.push({ queue, lease: leaseOf(runs), runs, left: ids(left), done, crosses });
  };
  const hand = { client, filled, give, take, leave };
  await ordinary(hand);
  await client.query('select tock.rest()');
  await edges(hand);
  await client.query('select tock.rest(), tock.tidy()');
  return filled;
}
