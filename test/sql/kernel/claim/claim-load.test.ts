import type pg from 'pg';
import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { claim, complete, enqueue, value } from '../../verbs.ts';

databasePerFile();

// A tenth of the tasks is ready before the first claim. Soon the workers wait for each new task. Then the
// snapshot of a claim's inner statement can be newer than that of the outer one.
test.each([
  [1, 2_000],
  [7, 7_000],
  [100, 15_000],
])(
  'eight workers at limit %i claim %i tasks beside writers, each once and with its payload',
  async (limit, total) => {
    const queue = `limit-${limit}`;
    const sent = new Map<string, string>();
    let serial = 0;

    async function send(on: pg.Client, count: number): Promise<void> {
      const tasks = Array.from({ length: count }, () => {
        serial += 1;
        return { payload: { n: serial, text: `task ${serial}` }, tenant: `t${serial % 20}` };
      });
      const ids = await enqueue(on, queue, tasks);
      for (const [n, id] of ids.entries()) sent.set(id, JSON.stringify(tasks[n]?.payload));
    }

    await send(client, total / 10);
    let writing = true;
    const delivered: [string, string][] = [];

    async function work(on: pg.Client): Promise<void> {
      for (;;) {
        const last = !writing;
        const runs = await claim(on, queue, { limit });
        if (runs.length === 0 && last) return;
        const lease = runs[0]?.lease;
        for (const run of runs) delivered.push([run.id, JSON.stringify(run.payload)]);
        if (lease) expect(await complete(on, lease)).toMatchObject({ completed: runs.length });
      }
    }

    async function write(on: pg.Client): Promise<void> {
      while (serial + 60 < total) await send(on, 20);
    }

    const workers = await Promise.all(Array.from({ length: 8 }, () => db.connect()));
    const writers = await Promise.all(Array.from({ length: 3 }, () => db.connect()));
    const working = Promise.all(workers.map(work));
    await Promise.all(writers.map(write));
    await send(client, total - serial);
    writing = false;
    await working;
    // In a worker's last claim all streams may have been locked by others.
    for (const run of await claim(client, queue, { limit: 1000 }))
      delivered.push([run.id, JSON.stringify(run.payload)]);
    expect(sent.size).toBe(total);
    expect(delivered).toHaveLength(total);
    const wrong = delivered.filter(([id, payload]) => sent.get(id) !== payload);
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(new Set(delivered.map(([id]) => id)).size).toBe(total);
    const larger = 'select count(*)::int from tock.leases where runs > $1';
    expect(await value(client, larger, [limit])).toBe(0);
    await expectInvariants(client);
  },
);
