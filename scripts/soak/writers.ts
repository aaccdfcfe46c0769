import type pg from 'pg';
import { chosen, dice, pause, type Random } from './clock.ts';
import { codeOf } from './codes.ts';
import { going, met, queue, type Soak } from './soak.ts';

/** More than this unfinished, and writers wait. */
const backlog = 8_000;

function sizeOf(random: Random): number {
  return chosen<() => number>(random, [
    [60, () => 1 + random(5)],
    [25, () => 6 + random(100)],
    [12, () => 100 + random(400)],
    [3, () => 500 + random(501)],
  ])();
}

function tasksOf(first: number, count: number, random: Random) {
  const kind = random(6);
  const heavy = random(3) === 0;
  return Array.from({ length: count }, (_, at) => ({
    payload: { n: first + at, v: 0, ...(random(50) === 0 && { text: 'x'.repeat(random(3000)) }) },
    ...(kind === 1 && { delay_seconds: random(4000) / 1000 }),
    ...((kind === 2 || kind === 3) && { tenant: heavy ? 'heavy' : `tenant-${random(40)}` }),
    ...(kind >= 3 && { priority: 3 + random(4) }),
    ...(random(20) === 0 && { max_attempts: 1 + random(3) }),
  }));
}

async function enqueue(on: pg.Client, tasks: object[], request: string | null): Promise<string[]> {
  const { rows } = await on.query(
    'select tock.enqueue(p_queue => $1, p_tasks => $2, p_request_id => $3) as ids',
    [queue, JSON.stringify(tasks), request],
  );
  return rows[0].ids;
}

export function startWriters(soak: Soak, count: number, seed: number): Promise<void>[] {
  const { ledger } = soak;

  /** With a request id: repeated until it is answered, and now and then once more. */
  async function repeated(
    first: number,
    tasks: object[],
    random: Random,
    url?: string,
  ): Promise<void> {
    const request = `request-${first}`;
    const times = random(4) === 0 ? 2 : 1;
    let told: string[] | null = null;
    for (let answers = 0; answers < times; ) {
      let on: pg.Client | null = null;
      try {
        on = await soak.stack.connect(url);
        const ids = await enqueue(on, tasks, request);
        if (told && told.join() !== ids.join()) {
          ledger.differ(
            'a repeated call gave other ids',
            first,
            `${told.join()} and ${ids.join()}`,
          );
        }
        if (!told) ledger.accepted(first, ids);
        told = ids;
        answers++;
      } catch (error) {
        met(ledger, 'enqueue', error);
        await pause(100 + random(200));
      } finally {
        void on?.end().catch(() => {});
      }
    }
    ledger.count('enqueue with a request id');
  }

  /** In a transaction that stays open for a while; what becomes of it decides over its tasks. */
  async function late(
    on: pg.Client,
    first: number,
    tasks: object[],
    random: Random,
  ): Promise<void> {
    const end = random(3) === 0 ? 'rollback' : 'commit';
    let ids: string[] = [];
    let ending = false;
    try {
      await on.query(random(5) === 0 ? 'begin isolation level repeatable read' : 'begin');
      ids = await enqueue(on, tasks, null);
      await pause(random(10) === 0 ? random(8000) : random(400));
      ending = end === 'commit';
      await on.query(end);
    } catch (error) {
      // refused or gone before the commit was sent: that transaction is no more
      if (ending && !/^(40|23)/.test(codeOf(error))) ledger.unsure(first, tasks.length);
      else ledger.undone(first, tasks.length);
      throw error;
    }
    if (end === 'rollback') ledger.undone(first, tasks.length);
    else ledger.accepted(first, ids);
    ledger.count(`enqueue in a transaction, ${end}`);
  }

  async function write(on: pg.Client, random: Random, url?: string): Promise<void> {
    if (ledger.open.size > backlog) return pause(100);
    const many = sizeOf(random);
    const first = ledger.take(many);
    const tasks = tasksOf(first, many, random);
    const way = random(10);
    if (way < 2) await repeated(first, tasks, random, url);
    else if (way < 4) await late(on, first, tasks, random);
    else {
      try {
        ledger.accepted(first, await enqueue(on, tasks, null));
      } catch (error) {
        // an answer that says no is sure; none at all is not
        if (/^(40|55|57014|TK)/.test(codeOf(error))) ledger.undone(first, many);
        else ledger.unsure(first, many);
        throw error;
      }
      ledger.count('enqueue');
    }
    await pause(random(120));
  }

  return Array.from({ length: count }, (_, at) => {
    const url = at % 2 ? soak.stack.pooledUrl : undefined;
    return going(soak, 'enqueue', dice(seed + at), (on, random) => write(on, random, url), url);
  });
}
