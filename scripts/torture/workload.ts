import { chosen, dice, now, pause, type Random } from '../soak/clock.ts';
import { gates, queues } from './queues.ts';
import { heard, type Torture } from './torture.ts';

/** More than this unfinished, and writers wait. */
const backlog = 1500;

type Options = Record<string, unknown>;

const plain = (random: Random): Options => ({
  ...(random(3) === 0 && { delay_seconds: random(3000) / 1000 }),
  ...(random(3) === 0 && { tenant: `tenant-${random(20)}` }),
  ...(random(3) === 0 && { priority: random(10) }),
  ...(random(25) === 0 && { expires_in_seconds: 1 + random(3) }),
});

/** What a call sends, to which queue. */
function batch(random: Random, own: (many: number) => number[]) {
  const many = chosen(random, [
    [60, 1 + random(3)],
    [30, 4 + random(30)],
    [4, 100 + random(200)],
  ]);
  const make = (count: number, options: (at: number) => Options) => {
    const numbers = own(count);
    const tasks = numbers.map((n, at) => ({ payload: { n }, ...options(at) }));
    return { numbers, tasks };
  };
  return chosen<() => { queue: string; numbers: number[]; tasks: Options[]; shared?: boolean }>(
    random,
    [
      [50, () => ({ queue: queues.plain, ...make(many, () => plain(random)) })],
      [
        15,
        () => {
          const names = Object.keys(gates);
          const gate = () => ({ gate: names[random(names.length)] });
          return { queue: queues.gated, ...make(1 + random(4), gate) };
        },
      ],
      [
        12,
        () => {
          const key = () => ({ unique_key: `key-${random(30)}` });
          return { queue: queues.unique, ...make(1 + random(3), key), shared: true };
        },
      ],
      [
        10,
        () => {
          const made = make(2 + random(5), (at) => (at === 0 ? {} : { sure: true }));
          // All have to end well: the last one waits for them.
          const tasks = made.numbers.map((n, at, all) => ({
            payload: { n, sure: true },
            ...(at === all.length - 1 && { after: ['*'] }),
          }));
          return { queue: queues.family, numbers: made.numbers, tasks };
        },
      ],
      [
        10,
        () => {
          const [, ...later] = queues.stages;
          const staged = make(1 + random(4), () => ({ pipeline: [...queues.stages] }));
          return { queue: later.length > 0 ? queues.stages[0] : queues.plain, ...staged };
        },
      ],
    ],
  )();
}

/** Clients that enqueue, over HTTP; some repeat until they are answered, some ask once. */
export function startWriters(torture: Torture, count: number, seed: number): Promise<void>[] {
  const { ledger, calls } = torture;
  async function write(random: Random): Promise<void> {
    if (torture.unfinished > backlog) return pause(200);
    const { queue, numbers, tasks, shared } = batch(random, ledger.take);
    if (shared) for (const n of numbers) ledger.keyed.add(n);
    const path = `/v1/queues/${queue}/tasks`;
    const request = random(4) > 0 ? `request-${numbers[0]}` : undefined;
    const body = numbers.length === 1 && random(2) ? (tasks[0] as object) : { tasks };
    const said = request
      ? await calls.repeated<{ ids: string[] }>('POST', path, body, request)
      : await calls.once<{ ids: string[] }>('POST', path, body);
    if ('answer' in said) {
      heard(ledger, `enqueue, ${queue}`, 200, '');
      ledger.accepted(said.answer.ids, numbers, shared);
      if (queue !== queues.plain) for (const id of said.answer.ids) ledger.shielded.add(id);
      if (request && random(5) === 0) await once_more(path, body, request, said.answer.ids);
    } else {
      heard(ledger, `enqueue, ${queue}`, said.status, said.detail);
      if (said.status === 0 || said.status === 503) ledger.unsure(numbers);
      else ledger.undone(numbers);
    }
    await pause(random(250));
  }

  async function once_more(path: string, body: object, request: string, ids: string[]) {
    const again = await calls.repeated<{ ids: string[] }>('POST', path, body, request);
    if (!('answer' in again)) return heard(ledger, 'enqueue again', again.status, again.detail);
    heard(ledger, 'enqueue again', 200, '');
    const other = again.answer.ids.join();
    if (other !== ids.join()) ledger.differ('a repeated call gave other ids', request, other);
  }

  return Array.from({ length: count }, async (_, at) => {
    const random = dice(seed + at);
    while (torture.going) await write(random);
  });
}

type Changed = { id: string; state: string; changed: boolean };

/** Clients that change their mind about tasks of the plain queue. */
export function startChangers(torture: Torture, count: number, seed: number): Promise<void>[] {
  const { ledger, calls } = torture;

  /** Ids that were accepted lately. */
  function victims(random: Random, many: number): string[] {
    const all = [...ledger.tasks.entries()].slice(-3000);
    const found = new Set<string>();
    for (let tries = 0; tries < many * 20 && found.size < many && all.length > 0; tries++) {
      const [id, entry] = all[random(all.length)] as (typeof all)[number];
      const plain = entry.accepted && entry.numbers.size === 1;
      if (plain && !ledger.shielded.has(id)) found.add(id);
    }
    return [...found];
  }

  async function cancel(random: Random): Promise<void> {
    const ids = victims(random, 1 + random(15));
    if (ids.length === 0) return;
    for (const id of ids)
      for (const n of ledger.tasks.get(id)?.numbers ?? []) ledger.asked.cancelled.add(n);
    const said = await calls.repeated<{ tasks: Changed[] }>('POST', '/v1/tasks/cancel', { ids });
    if (!('answer' in said)) return heard(ledger, 'cancel', said.status, said.detail);
    heard(ledger, 'cancel', 200, '');
    const at = now();
    const found = new Set(said.answer.tasks.map(({ id }) => id));
    for (const id of ids) if (!found.has(id)) ledger.differ('not there', id, 'said cancel');
    for (const { id, state, changed } of said.answer.tasks) {
      if (state !== 'cancelled' || !changed) continue;
      ledger.count('tasks cancelled');
      ledger.cancelled(at, id);
    }
  }

  async function patch(random: Random): Promise<void> {
    const [id] = victims(random, 1);
    if (!id) return;
    const body = [{ priority: random(10) }, { delay_seconds: random(2000) / 1000 }][random(2)];
    const said = await calls.repeated('PATCH', `/v1/tasks/${id}`, body);
    heard(
      ledger,
      'change',
      'answer' in said ? 200 : said.status,
      'detail' in said ? said.detail : '',
    );
  }

  async function rerun(random: Random): Promise<void> {
    const [id] = victims(random, 1);
    const [n] = id ? (ledger.tasks.get(id)?.numbers ?? []) : [];
    if (!id || n === undefined) return;
    const request = `rerun-${id}-${now()}`;
    ledger.again(n, false);
    const said = await calls.repeated<{ rerun_id: string }>(
      'POST',
      `/v1/tasks/${id}/rerun`,
      {},
      request,
    );
    if (!('answer' in said)) return heard(ledger, 'rerun', said.status, said.detail);
    heard(ledger, 'rerun', 200, '');
    const known = ledger.numbers.get(n);
    if (known) known.least++;
    ledger.rerun(said.answer.rerun_id, n);
  }

  async function redrive(): Promise<void> {
    const request = `redrive-${now()}`;
    for (const n of ledger.asked.dead) ledger.again(n, false);
    const path = `/v1/queues/${queues.plain}/redrive`;
    const said = await calls.repeated('POST', path, { limit: 100 }, request);
    heard(
      ledger,
      'redrive',
      'answer' in said ? 200 : said.status,
      'detail' in said ? said.detail : '',
    );
  }

  return Array.from({ length: count }, async (_, at) => {
    const random = dice(seed + at);
    while (torture.going) {
      await chosen<() => Promise<unknown>>(random, [
        [5, () => cancel(random)],
        [5, () => patch(random)],
        [3, () => rerun(random)],
        [1, () => redrive()],
      ])();
      await pause(random(800));
    }
  });
}

/** One that reads what there is to be read, and one that wakes the database each second. */
export function startReaders(torture: Torture, seed: number): Promise<void>[] {
  const { ledger, calls } = torture;
  const ask = async (verb: string, method: 'GET' | 'POST', path: string) => {
    const said = await calls.once(method, path, method === 'POST' ? {} : undefined);
    heard(ledger, verb, 'answer' in said ? 200 : said.status, 'detail' in said ? said.detail : '');
  };
  const read = async () => {
    const random = dice(seed);
    while (torture.going) {
      const ids = [...ledger.tasks.keys()].slice(-500);
      const id = ids[random(Math.max(1, ids.length))];
      const path = [
        id ? `/v1/tasks/${id}` : '/v1/queues',
        '/v1/queues',
        '/v1/stats',
        `/v1/tasks?queue=${queues.plain}&state=ready&limit=50`,
        `/v1/queues/${queues.plain}/dead`,
        `/v1/queues/${queues.gated}/gates`,
        '/v1/schedules/each-second/fires',
        '/v1/doctor',
      ][random(8)] as string;
      await ask('read', 'GET', path);
      await pause(random(400));
    }
  };
  const tick = async () => {
    while (torture.going) {
      await ask('tick', 'POST', '/v1/tick');
      await pause(700);
    }
  };
  return [read(), tick()];
}
