import { expect, test } from 'vitest';
import { expectWhole } from './audit.ts';
import { client, databaseEach, db } from './own.ts';
import { claim, complete, enqueue, fail, leaseOf, release, rows, value } from './support.ts';

databaseEach();

const any = (n: number) => Math.floor(Math.random() * n);

/** Keys and gates are by depth, so nothing can wait for itself; whoever ends is whole, and nobody is left. */
test('V1 spawns with keys, gates, after, among cancels, changes, moves, reruns and kills', async () => {
  const errors: Record<string, number> = {};
  const until = Date.now() + 60_000;
  const wild = until - 30_000;
  let stop = false;
  const noted = (what: string) => (e: { code?: string; message: string }) => {
    const key = `${what} ${e.code} ${e.message.slice(0, 90)}`;
    errors[key] = (errors[key] ?? 0) + 1;
  };
  const settings = JSON.stringify({ max_lost: 1000, backoff_base_seconds: 0 });
  for (let d = 0; d < 4; d++) await client.query('select tock.put_queue($1, $2)', [`d${d}`, settings]).catch(noted('put'));
  const ids = await enqueue(client, 'd3', Array.from({ length: 40 }, () => ({ payload: 3, max_attempts: 1000 })));
  const childOf = (depth: number) => ({
    payload: depth,
    max_attempts: 1000,
    ...(any(4) === 0 ? { unique_key: `k${depth}-${any(5)}`, on_conflict: ['keep', 'rerun', 'replace'][any(3)] } : any(3) === 0 ? { gate: `g${any(3)}` } : {}),
    ...(any(8) === 0 ? { delay_seconds: 0.2 } : {}),
    ...(any(10) === 0 ? { expires_in_seconds: 0.5 } : {}),
  });
  const worker = async () => {
    const one = await db.connect();
    one.on('error', () => {});
    while (!stop && Date.now() < until) {
      const loose = Date.now() < wild;
      try {
        const runs = await claim(one, `d${any(4)}`, { limit: 1 + any(4), lease_seconds: 3 });
        if (!runs.length) {
          await new Promise((r) => setTimeout(r, 20));
          continue;
        }
        const results = runs.map((run) => {
          const p = run.payload as number | { payload: number; children?: unknown };
          const whole = typeof p === 'object' && p !== null;
          const depth = (whole ? p.payload : p) as number;
          if (depth < 1 || (whole && (!loose || any(4)))) return { id: run.id, result: depth };
          const tasks: object[] = Array.from({ length: 1 + any(3) }, () => childOf(depth - 1));
          if (tasks.every((t) => !('unique_key' in t)) && any(3) === 0) tasks.push({ payload: 0, after: ['*'], gather: true });
          return { id: run.id, result: depth, spawn: { queue: `d${depth - 1}`, tasks, wait: any(4) > 0, } };
        });
        const dice = loose ? any(20) : 10;
        if (dice === 0) continue;
        if (dice === 1) await fail(one, leaseOf(runs), { retry_in_seconds: 0 });
        else if (dice === 2) await release(one, leaseOf(runs));
        else if (dice === 3) {
          await one.query('begin');
          await complete(one, leaseOf(runs), results);
          await new Promise((r) => setTimeout(r, any(200)));
          await one.query(any(2) ? 'commit' : 'rollback');
        } else {
          await complete(one, leaseOf(runs), results);
          if (dice === 4) await complete(one, leaseOf(runs), results);
        }
      } catch (e) {
        noted('worker')(e as Error);
        await one.query('rollback').catch(() => {});
      }
    }
    await one.end();
  };
  const meddler = async () => {
    const one = await db.connect();
    while (Date.now() < wild) {
      const all = await rows<{ id: string }>(
        one,
        'select coalesce(task_id, position << 20) as id from tock.waiting order by random() limit 3',
      );
      const some = all.map((r) => r.id).concat(ids[any(ids.length)] ?? []);
      const verb = any(4);
      if (verb === 0) await one.query('select tock.cancel($1)', [some.slice(0, 1)]).catch(noted('cancel'));
      if (verb === 1) await one.query('select tock.change($1, $2)', [some, JSON.stringify({ payload: any(3) })]).catch(noted('change'));
      if (verb === 2) await one.query('select tock.change($1, $2)', [some, JSON.stringify({ priority: any(10) })]).catch(noted('priority'));
      if (verb === 3) await one.query('select tock.rerun($1)', [some]).catch(noted('rerun'));
      await new Promise((r) => setTimeout(r, 60));
    }
    await one.end();
  };
  const duties = async () => {
    const one = await db.connect();
    while (!stop && Date.now() < until) {
      await one.query(`select tock.promote(1000, ${any(3) === 0})`).catch(noted('promote'));
      await one.query('select tock.reap(10000, true)').catch(noted('reap'));
      if (Date.now() > wild) {
        const left = await value<number>(one, 'select coalesce(sum(ready + running + waiting), 0)::integer from tock.queue_stats()');
        if (left === 0) stop = true;
      }
      await new Promise((r) => setTimeout(r, 50));
    }
    await one.end();
  };
  await Promise.all([...Array.from({ length: 9 }, worker), meddler(), meddler(), duties()]);
  const stats = await rows(client, 'select queue, ready, running, waiting from tock.queue_stats()');
  const stuck = await rows(client, "select position, queue, gate, ticket, due_at, after_due, jsonb_pretty(options) as options from tock.waiting limit 5");
  const made = await value(client, "select count(*) from tock.requests where verb = 'spawn'");
  console.log('V1', JSON.stringify({ errors, stats, stuck, made, left: until - Date.now() }, null, 1));
  expect(stuck).toEqual([]);
  expect(errors).toEqual({});
  await expectWhole(client);
}, 110_000);
