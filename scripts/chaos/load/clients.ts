import type { Chaos } from '../chaos.ts';
import {
  type Client,
  call,
  type Driver,
  RETRY_SECONDS,
  type Transaction,
} from '../drivers/driver.ts';
import { dice, pause, type Random } from '../random.ts';
import { governor, keeper } from './governors.ts';
import { signaller } from './signals.ts';
import { createBatch } from './tasks.ts';

type Step = (client: Client) => Promise<unknown>;

/** Clients add no tasks if more than this many are unfinished. */
const backlog = 1000;

const equalIds = (ids: string[], other: string[]) => ids.join() === other.join();

/** A transaction held open for a while; one in three is rolled back. */
export function randomTransaction(random: Random, longest: number): Transaction {
  return {
    hold: random(10) === 0 ? random(longest) : random(400),
    end: random(3) === 0 ? 'rollback' : 'commit',
    ...(random(5) === 0 && { isolation: 'repeatable read' }),
  };
}

async function enqueue({ journal, ledger, reserve }: Chaos, client: Client, request_id: string) {
  const { driver, random } = client;
  const { queue, tasks, requests } = createBatch(random, request_id, reserve);
  const numbers = requests.map(({ n }) => n);
  for (const request of requests) journal.requested(request);
  const single = tasks.length === 1 && random(2) === 0;
  const unrepeated = random(5) === 0;
  const transaction =
    driver.transactions && unrepeated && random(2) === 0
      ? randomTransaction(random, 8000)
      : undefined;
  const plain = tasks.every((task) => Object.keys(task).join() === 'payload');
  const payloads = plain && !single && random(2) === 0 && tasks.map(({ payload }) => payload);
  const args = {
    queue,
    tasks,
    single,
    ...(payloads && { payloads }),
    ...(!unrepeated && { request_id }),
  };
  const answer = unrepeated
    ? await driver.attempt('enqueue', args, transaction)
    : await call(client, 'enqueue', args, RETRY_SECONDS);
  if (!answer) return unrepeated ? null : ledger.differ('a call was never answered', 0, request_id);
  if (answer.undone && unrepeated) return journal.settled(Date.now(), numbers, 'none');
  if (answer.status !== 200) return null;
  journal.settled(Date.now(), numbers, 'sure', answer.body.ids);
  if (unrepeated || random(6) > 0) return null;
  const repeated = await call(client, 'enqueue', args, RETRY_SECONDS);
  if (repeated?.status === 200 && !equalIds(repeated.body.ids, answer.body.ids))
    ledger.differ('a repeated call returned other ids', numbers[0] ?? 0, `${answer.body.ids}`);
  return null;
}

/** Unfinished plain tasks among the newest. Each changer has its own tasks, so it knows the order of their changes. */
function victims(
  { journal, reserve }: Chaos,
  random: Random,
  ownNumber: number,
  changers: number,
  count: number,
) {
  // The journal has more requests: those of workers, with other numbers.
  const newest = reserve(0) - 1;
  const candidates = new Map<string, number>();
  for (let attempt = 0; attempt < 30 * count && candidates.size < count; attempt++) {
    const n = 1 + newest - random(Math.min(newest, 400));
    const { id, queue, due } = journal.requests.get(n) ?? {};
    if (n % changers !== ownNumber || !id || queue !== 'plain' || due !== undefined) continue;
    if (!journal.stored.has(id)) candidates.set(id, n);
  }
  return candidates;
}

function changer(chaos: Chaos, own: number, changers: number): Step {
  const { journal, ledger } = chaos;
  const versions = new Map<string, number>();
  return async (client) => {
    const { driver, random } = client;
    const kind = random(6);
    // Only SQL changes many tasks in a call; a new payload is for one task.
    const count = driver.transactions && kind !== 1 ? 1 + random(20) : 1;
    const candidates = victims(chaos, random, own, changers, count);
    const ids = [...candidates.keys()];
    const [id = ''] = ids;
    if (!id) return pause(200);
    const n = candidates.get(id);
    const transaction =
      driver.transactions && random(4) === 0 ? randomTransaction(random, 5000) : undefined;
    // Changes are refused outside read committed.
    if (transaction) delete transaction.isolation;
    const send = (...[verb, args]: Parameters<Driver['attempt']>) =>
      transaction ? driver.attempt(verb, args, transaction) : call(client, verb, args);
    const sent = Date.now();
    if (kind === 4) return send('move', { ids, queue: 'moved' });
    if (kind === 0) {
      for (const cancelledId of ids) journal.wantsCancel(cancelledId);
      const answer = await send('cancel', { ids });
      if (answer?.status !== 200 || answer.undone) return;
      const acknowledged = Date.now();
      for (const task of answer.body.tasks ?? [{ ...answer.body, id }]) {
        if (!candidates.has(task.id))
          ledger.differ('a change answered for another task', 0, task.id);
        if (task.state === 'cancelled' && task.changed)
          journal.cancelled({ id: task.id, sent, acknowledged });
      }
      return;
    }
    const version = (versions.get(id) ?? 0) + 1;
    if (kind === 1) versions.set(id, version);
    const changes = [
      { payload: { n, v: version } },
      { delay_seconds: random(2000) / 1000 },
      { priority: random(10) },
      null,
      { run_at: new Date(Date.now() + random(3000) - 500).toISOString() },
    ][kind - 1];
    const answer = await send('change', { ids, changes });
    if (kind !== 1 || answer?.status !== 200 || answer.undone) return;
    const { state, changed } = answer.body;
    if (changed && (state === 'ready' || state === 'waiting'))
      journal.changed({ id, sent, acknowledged: Date.now(), version });
  };
}

/** Reruns ended tasks without a key, with a request id; every second call is sent twice with the same id. */
function rerunner({ journal, ledger }: Chaos): Step {
  let calls = 0;
  const repeated = (n: number) =>
    ['plain', 'broken', 'capped'].includes(journal.requests.get(n)?.queue ?? '');
  return async (client) => {
    const { random } = client;
    await pause(200);
    const request_id = `again ${++calls}`;
    const ended = journal.ends.slice(-200).filter((end) => end.acknowledged !== undefined);
    const run = ended[random(ended.length)]?.runs[0];
    if (!run || !repeated(run.n)) return;
    const verb = random(2) ? 'rerun' : 'redrive';
    const args = { request_id, id: run.id, queue: 'broken', limit: 1 + random(5) };
    let ids: string[] = [];
    for (let times = 1 + random(2); times > 0; times--) {
      const answer = await call(client, verb, args, RETRY_SECONDS);
      if (!answer) ledger.differ('a call was never answered', 0, `${verb} ${request_id}`);
      if (answer?.status !== 200) return;
      const { rerun_id, ids: returnedIds = rerun_id ? [rerun_id] : [] } = answer.body;
      // The answer of a call that found no tasks is not stored, so a repeat may find some.
      if (ids.length > 0 && !equalIds(ids, returnedIds))
        ledger.differ(
          'a repeated call returned other ids',
          0,
          `${verb}: ${ids} and ${returnedIds}`,
        );
      if (ids.length === 0) for (const id of returnedIds) journal.rerun({ of: run.id, id });
      ids = returnedIds;
    }
  };
}

function reader({ journal }: Chaos): Step {
  return async (client) => {
    const { random } = client;
    const id = journal.claims.at(-1)?.runs[0]?.id;
    if (id && random(2)) await call(client, random(2) ? 'task' : 'task steps', { id }, 0);
    else await call(client, 'read', { n: random(1000) }, 0);
    await pause(random(500));
  };
}

/** Ticks once a second, because pg_cron may have only minutes, or be stopped by a fault. */
const ticker: Step = async (client) => {
  await call(client, 'tick', {}, 0);
  await pause(1000);
};

/** Starts all clients except the workers. Each repeats its step until the run ends. */
export function startClients(chaos: Chaos, seed: number): Promise<void>[] {
  let clients = 0;
  async function stepping(step: Step, random: Random): Promise<void> {
    const driver = chaos.open(clients++);
    while (chaos.running) {
      await step({ driver, random });
      await pause(10 + random(80));
    }
    await driver.close();
  }
  const writers = Array.from({ length: 8 }, (_, at) => {
    let calls = 0;
    return stepping(
      async (client) => {
        if (chaos.unfinished > backlog) return pause(200);
        return enqueue(chaos, client, `client ${at} call ${++calls}`);
      },
      dice(seed * 11 + at),
    );
  });
  const changers = [0, 1, 2].map((at) => stepping(changer(chaos, at, 3), dice(seed * 13 + at)));
  const others = [rerunner(chaos), governor(chaos), keeper(chaos), reader(chaos), ticker].map(
    (step, at) => stepping(step, dice(seed * 17 + at)),
  );
  const signals = signaller(chaos, ({ driver, random }) => {
    if (!driver.transactions || random(3) > 0) return undefined;
    const { isolation: _, ...transaction } = randomTransaction(random, 3000);
    return transaction;
  });
  const signallers = [0, 1].map((at) => stepping(signals.step, dice(seed * 19 + at)));
  const all = [...writers, ...changers, ...others, ...signallers];
  const last = Promise.all(all).then(async () => {
    const driver = chaos.open(clients++);
    await signals.last({ driver, random: dice(seed * 23) });
    await driver.close();
  });
  return [...all, last];
}
