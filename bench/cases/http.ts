import { type Call, connection, cycle, nexts, rate, type Step } from '../calls.ts';
import { payload } from '../payload.ts';
import { serve } from '../serve_worker.ts';
import type { Case, Figure, Group, Run } from '../types.ts';
import { warmUp } from '../windows.ts';

const task = { payload: JSON.parse(payload(100)) };
const batches = [1, 100];

const select: Step = async (call) => {
  await call('GET', '/bench/select1');
  return 1;
};

function enqueue(batch: number): Step {
  const body = JSON.stringify(batch === 1 ? task : { tasks: Array(batch).fill(task) });
  return async (call) => {
    await call('POST', '/v1/queues/in/tasks', body);
    return 1;
  };
}

function described(name: string, tasks: number, floor: Figure, figure: Figure): Case {
  const { value } = figure;
  const ratio = value && floor.value && (value / floor.value).toFixed(2);
  const many = value && Math.round(value * tasks).toLocaleString('en');
  return {
    name,
    unit: 'statements/s',
    tock: value,
    floor: floor.value,
    peers: {},
    note: figure.note ?? `${many} tasks/s; ${ratio} of select 1 through the same Worker`,
    windows: { tock: figure.windows, floor: floor.windows },
  };
}

async function measured(run: Run): Promise<Case[]> {
  const tock = run.systems.find(({ name }) => name === 'tock');
  if (!tock) return [];
  const database = await run.open(tock);
  const served = await serve(run, database);
  const all = Array.from({ length: run.clients }, () => connection(served));
  let left = 0;
  let claimed = 0;
  // These rates are an estimate until the first window has a result.
  const perSecond = new Map(batches.map((batch) => [batch, 500 * batch]));

  const window = async (step: Step) => {
    await database.client.query('select tock.tick()');
    await rate(all, step, warmUp(run.seconds));
    return rate(all, step, run.seconds);
  };
  type Consume = (call: Call) => ReturnType<typeof cycle>;
  const consume = async (batch: number, work: Consume) => {
    const seconds = warmUp(run.seconds) + run.seconds;
    const wanted = 1.5 * seconds * (perSecond.get(batch) ?? 0);
    if (left < wanted) {
      const more = Math.ceil(Math.max(wanted - left, 10_000));
      await tock.fill(database, more, { batch, bytes: 100, queues: 1 });
      left += more;
      await run.settle(database);
    }
    claimed = 0;
    const windowResult = await window(async (call) => {
      const { tasks, requests, state } = await work(call);
      if (state === 'empty') throw new Error('The window ran out of tasks.');
      claimed += tasks;
      return requests;
    });
    left -= claimed;
    perSecond.set(batch, Math.max(perSecond.get(batch) ?? 0, claimed / seconds));
    return windowResult;
  };

  try {
    const figures = await run.interleave([
      { name: 'select 1', window: () => window(select) },
      ...batches.flatMap((batch) => [
        { name: `enqueue ${batch}`, window: () => window(enqueue(batch)) },
        {
          name: `cycle ${batch}`,
          window: () => consume(batch, (call) => cycle(call, 'q', batch)),
        },
        {
          name: `next ${batch}`,
          window: () => {
            const workers = new Map(all.map(({ call }) => [call, nexts('q', batch)]));
            return consume(batch, (call) => (workers.get(call) as Consume)(call));
          },
        },
      ]),
    ]);
    const floor = figures['select 1'] as Figure;
    const of = (kind: string, batch: number) => figures[`${kind} ${batch}`] as Figure;
    return [
      ...batches.map((n) => described(`http enqueue ${n}`, n, floor, of('enqueue', n))),
      ...batches.map((n) => described(`http claim+complete ${n}`, n / 2, floor, of('cycle', n))),
      ...batches.map((n) => described(`http next ${n}`, n, floor, of('next', n))),
    ];
  } finally {
    for (const { close } of all) close();
    await served.stop();
    await run.close(database);
  }
}

export const groups: Group[] = [{ name: 'http', run: measured }];
