import { type Call, connection } from '../calls.ts';
import { listener } from '../open_loop.ts';
import { serve } from '../serve_worker.ts';
import type { Case, Group, Run } from '../types.ts';

const samples = (run: Run) => (run.quick ? 100 : 400);
const warmUp = 100;
/** The pause between two tasks, so that each one finds the consumer idle. */
const PAUSE_MS = 50;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The start of the next handler. */
async function nextStart() {
  let heard = () => {};
  const server = await listener(() => heard());
  return {
    ...server,
    /** Resolves with the next message. */
    next: () =>
      new Promise<number>((resolve) => {
        heard = () => resolve(performance.now());
      }),
  };
}

/** Milliseconds from each request until its handler has started, or until its answer. */
async function times(count: number, once: () => Promise<[sent: number, done: number]>) {
  const durations: number[] = [];
  for (let n = -warmUp; n < count; n++) {
    const [sent, done] = await once();
    if (n >= 0) durations.push(done - sent);
    await pause(PAUSE_MS * (0.5 + Math.random()));
  }
  return durations;
}

const at = (values: number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? null;

type Connection = { call: Call; next(): Promise<number> };

const measures = (count: number, { call, next }: Connection) => {
  const heard = (send: () => Promise<unknown>) =>
    times(count, async () => {
      const received = next();
      const sent = performance.now();
      const answered = send();
      const done = await received;
      await answered;
      return [sent, done];
    });
  return {
    started: () => heard(() => call('POST', '/v1/queues/started/tasks', '{"payload": 1}')),
    floor: () => heard(() => call('GET', '/bench/started')),
    select: () =>
      times(count, async () => {
        const sent = performance.now();
        await call('GET', '/bench/select1');
        return [sent, performance.now()];
      }),
  };
};

async function measured(run: Run): Promise<Case[]> {
  const tock = run.systems.find(({ name }) => name === 'tock');
  if (!tock) return [];
  const database = await run.open(tock);
  const { url, next, close } = await nextStart();
  const served = await serve(run, database, 'bench/consumer_worker.ts', { LISTENER: url });
  const client = connection(served);
  try {
    const count = samples(run);
    const { started, floor, select } = measures(count, { call: client.call, next });
    const [least, received, durations] = [await select(), await floor(), await started()];
    const ms = (values: number[], share: number) => at(values, share)?.toFixed(1);
    const both = (values: number[]) => `${ms(values, 0.5)} and ${ms(values, 0.99)} ms`;
    const note = `${count} tasks, one at a time, by HTTP through PgBouncer, measured by a request of the handler's, which is in it; floor: a request for select 1; with the same request to the listener ${both(received)}`;
    return [0.5, 0.99].map((share) => ({
      name: `consumer start, p${share * 100}`,
      unit: 'ms',
      tock: at(durations, share),
      floor: at(least, share),
      peers: {},
      note,
      windows: { tock: durations, floor: least, received },
    }));
  } finally {
    client.close();
    await served.stop();
    close();
    await run.close(database);
  }
}

export const groups: Group[] = [{ name: 'consumers', run: measured }];
