import { dice, pause, type Random } from '../soak/clock.ts';
import { once, patience } from './call.ts';
import { governor, keeper } from './governors.ts';
import { batchOf } from './tasks.ts';
import { type Client, stepping, type Torture } from './torture.ts';

/** More than this unfinished, and nothing is added. */
const backlog = 1500;

const sameIds = (one: string[], other: string[]) => one.join() === other.join();

async function enqueue(torture: Torture, client: Client, random: Random, call: string) {
  const { facts, ledger } = torture;
  const { queue, tasks, asks } = batchOf(random, call, torture.take);
  const numbers = asks.map(({ n }) => n);
  for (const ask of asks) facts.asked(ask);
  const path = `/v1/queues/${queue}/tasks`;
  const alone = tasks.length === 1 && random(2) === 0;
  const repeated = random(5) > 0;
  const body = {
    ...(alone ? tasks[0] : { tasks }),
    ...(repeated && { request_id: call }),
  };
  const verb = repeated ? 'enqueue' : 'enqueue without a request id';
  const answer = repeated
    ? await client.call(verb, path, { body, patience })
    : await once(client.api, verb, path, 'POST', body);
  if (answer?.status !== 201) return;
  facts.settled(Date.now(), numbers, 'sure', answer.body.ids);
  if (!repeated || random(6) > 0) return;
  const again = await client.call('enqueue again', path, { body, patience });
  if (again?.status === 201 && !sameIds(again.body.ids, answer.body.ids))
    ledger.differ('a repeated call gave other ids', numbers[0] ?? 0, `${answer.body.ids}`);
}

/** Unfinished plain tasks among the latest, each changer's own, so that it knows what came last. */
function victim({ facts }: Torture, random: Random, mine: number, changers: number) {
  const newest = facts.asks.size;
  for (let attempt = 0; attempt < 30; attempt++) {
    const n = 1 + newest - random(Math.min(newest, 400));
    const ask = facts.asks.get(n);
    if (n % changers !== mine || !ask?.id) continue;
    if (ask.queue === 'plain' && ask.due === undefined) return { n, id: ask.id };
  }
  return null;
}

function changer(torture: Torture, mine: number, changers: number) {
  const { facts } = torture;
  const versions = new Map<number, number>();
  return async ({ call }: Client, random: Random): Promise<void> => {
    const found = victim(torture, random, mine, changers);
    if (!found) return pause(200);
    const { n, id } = found;
    const sent = Date.now();
    const way = random(5);
    if (way === 4) {
      await call('move', '/v1/tasks/move', { body: { ids: [id], queue: 'moved' } });
      return;
    }
    if (way === 0) {
      facts.wants(id);
      const answer = await call('cancel', `/v1/tasks/${id}/cancel`, { body: {} });
      if (answer?.status === 200 && answer.body.state === 'cancelled' && answer.body.changed)
        facts.cancelled({ id, sent, told: Date.now() });
      return;
    }
    const version = (versions.get(n) ?? 0) + 1;
    const patches = [
      { payload: { n, v: version } },
      { delay_seconds: random(2000) / 1000 },
      { priority: random(10) },
    ];
    if (way === 1) versions.set(n, version);
    const path = `/v1/tasks/${id}`;
    const answer = await call('change', path, { method: 'PATCH', body: patches[way - 1] });
    const { state, changed } = answer?.body ?? {};
    if (way === 1 && changed && (state === 'ready' || state === 'waiting'))
      facts.changed({ id, sent, told: Date.now(), version });
  };
}

/** What has ended, and has no key, runs again, with a request id, and every other time twice with the same. */
function rerunner({ facts, ledger }: Torture) {
  let calls = 0;
  const again = (n: number) =>
    ['plain', 'broken', 'capped'].includes(facts.asks.get(n)?.queue ?? '');
  return async ({ call }: Client, random: Random): Promise<void> => {
    await pause(200);
    const request_id = `again ${++calls}`;
    const ended = facts.ends.slice(-200).filter(({ told }) => told !== undefined);
    const run = ended[random(ended.length)]?.runs[0];
    if (!run || !again(run.n)) return;
    const one = random(2) === 0;
    const path = one ? `/v1/tasks/${run.id}/rerun` : '/v1/queues/broken/redrive';
    const body = one ? { request_id } : { request_id, limit: 1 + random(5) };
    const verb = one ? 'rerun' : 'redrive';
    let ids: string[] | null = null;
    for (let times = random(2) === 0 ? 2 : 1; times > 0; times--) {
      const answer = await call(verb, path, { body, patience });
      if (answer?.status !== 200) return;
      const given: string[] = one ? [answer.body.rerun_id ?? ''] : answer.body.ids;
      if (ids && !sameIds(ids, given))
        ledger.differ('a repeated call gave other ids', 0, `${verb}: ${ids} and ${given}`);
      if (!ids) for (const id of given) if (id) facts.rerun({ of: run.id, id });
      ids = given;
    }
  };
}

const reads = [
  '/v1/queues',
  '/v1/queues/one/gates',
  '/v1/tasks?queue=plain&state=ready&limit=50',
  '/v1/stats',
  '/v1/schedules',
  '/v1/queues/broken/dead',
  '/v1/acts',
  '/v1/keys',
  '/v1/limits',
  '/v1/pools',
  '/v1/doctor',
  '/v1/queues/capped/limits',
  '/v1/queues/plain/hours',
  '/v1/queues/plain/series',
  '/v1/series',
  '/v1/overview',
  '/v1/leases',
  '/v1/duties',
  '/v1/key',
  '/v1/queues/plain/why',
  '/v1/schedules/each-second/fires',
  '/v1/schedules/each-second/next',
];

async function read({ facts }: Torture, { call }: Client, random: Random): Promise<void> {
  const last = facts.claims.at(-1)?.runs[0]?.id;
  const path = last && random(2) ? `/v1/tasks/${last}` : reads[random(reads.length)];
  await call('read', path as string, { method: 'GET', patience: 0 });
  await pause(random(500));
}

/** From outside, as pg_cron may know minutes only, and be stopped. */
async function tick(_torture: Torture, { call }: Client): Promise<void> {
  await call('tick', '/v1/tick', { body: {}, patience: 0 });
  await pause(1000);
}

/** Everybody who calls over HTTP and is no worker. */
export function startClients(torture: Torture, seed: number): Promise<void>[] {
  const writers = [0, 1, 2, 3, 4, 5, 6, 7].map((at) => {
    let calls = 0;
    return stepping(torture, dice(seed * 11 + at), async (client, random) => {
      if (torture.left > backlog) return pause(200);
      return enqueue(torture, client, random, `client ${at} call ${++calls}`);
    });
  });
  const changers = [0, 1].map((at) =>
    stepping(torture, dice(seed * 13 + at), changer(torture, at, 2)),
  );
  const others = [
    rerunner(torture),
    governor(torture),
    keeper(torture),
    (client: Client, random: Random) => read(torture, client, random),
    (client: Client) => tick(torture, client),
  ].map((step, at) => stepping(torture, dice(seed * 17 + at), step));
  return [...writers, ...changers, ...others];
}
