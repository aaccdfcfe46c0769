import { describe, expect, onTestFinished, test } from 'vitest';
import { putQueue } from '../sql/features/queue_limits/limits.ts';
import { enqueue, value, waitUntil } from '../sql/verbs.ts';
import { tock } from './tock.ts';
import { transports } from './transports.ts';

const { http, both, connect, server } = transports('enqueue,claim,read,admin');

describe.each(both)('over %s', (name, env) => {
  const cli = (...args: string[]) => tock(args, { env: env() });
  const json = async (...args: string[]) => {
    const { code, out, err } = await cli(...args, '--json');
    expect([code, err]).toEqual([0, '']);
    return JSON.parse(out);
  };
  /** Creates two queues with tasks of these payloads. Returns the queues and the tasks' ids. */
  const fresh = async (what: string, first: unknown[], second: unknown[]) => {
    const client = await connect();
    const queues = [`${what}-1-${name}`, `${what}-2-${name}`] as const;
    const tasks = [first, second].map((some) => some.map((payload) => ({ payload })));
    const ids: string[][] = [];
    for (const [n, queue] of queues.entries()) ids.push(await enqueue(client, queue, tasks[n]));
    return { client, queues, ids: ids as [string[], string[]] };
  };

  test('a claim takes tasks from the first queue, then the rest from the next, with a lease for each', async () => {
    const { queues, ids } = await fresh('order', ['a b', 1.5], [{ c: null }, 'd', 'e']);
    const { code, out, err } = await cli('claim', ...queues, '--limit', '4');
    expect([code, err]).toEqual([0, '']);
    const [first, second] = out.match(/^[0-9a-f-]{36}(?=\t)/gm) ?? [];
    const lines = [
      ...[`${first}\t${queues[0]}`, `${ids[0][0]}\t"a b"`, `${ids[0][1]}\t1.5`],
      ...[`${second}\t${queues[1]}`, `${ids[1][0]}\t{"c":null}`, `${ids[1][1]}\t"d"`],
    ];
    expect(out).toBe(`${lines.join('\n')}\n`);
    expect(first).not.toBe(second);
    expect((await cli('complete', first as string)).out).toBe('2 completed\n');
    expect((await cli('release', second as string, ids[1][1] as string)).out).toBe('1 released\n');
    expect(await json('task', ids[1][0] as string)).toMatchObject({ state: 'running' });
  });

  test('--json prints the answer of the HTTP API', async () => {
    const { queues, ids } = await fresh('json', [], ['x']);
    const answer = await json('claim', ...queues, '--worker', 'w', '--lease', '500');
    const [id] = ids[1];
    const { lease, leased_until } = answer.leases[0];
    expect(lease).toMatch(/^[0-9a-f-]{36}$/);
    expect(Date.parse(leased_until) - Date.now()).toBeGreaterThan(300_000);
    const tasks = [expect.objectContaining({ id, attempt: 1, payload: 'x', headers: null })];
    const leases = [{ queue: queues[1], lease, leased_until, tasks }];
    expect(answer).toEqual({ leases, state: 'found', retry_after_seconds: 0 });
    expect((await json('task', id as string)).runs).toMatchObject([{ worker: 'w' }]);
  });

  test('with weights each claim chooses a random order of the queues', async () => {
    const { queues } = await fresh('weights', ['a', 'a'], ['b', 'b']);
    const claim = (weights: string, id: string) =>
      cli('claim', ...queues, '--weights', weights, '--request-id', `${name}-${id}`);
    const drawn = [await claim('1,1000', 'x'), await claim('1,1000', 'y')];
    // Without weights the first queue always comes first. With them that happens twice once in a million times.
    expect(drawn.map(({ out }) => out).join('')).toContain(`\t${queues[1]}\n`);
    expect(await claim('1,1000', 'x')).toEqual(drawn[0]);
    const other = await claim('1000,1', 'x');
    expect(other).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/^--request-id/) });
  });

  test('a claim without tasks reports the best state of its queues', async () => {
    const { client, queues } = await fresh('nothing', ['a'], []);
    await putQueue(client, queues[0], { paused: true });
    expect(await cli('claim', ...queues, '--weights', '2,1', '--wait', '0.1')).toEqual({
      code: 0,
      out: '',
      err: 'Nothing to claim: empty. Retry in 30 s.\n',
    });
    const nothing = { leases: [], state: 'empty', retry_after_seconds: 30 };
    expect(await json('claim', ...queues)).toEqual(nothing);
    expect((await cli('claim', queues[0])).err).toMatch(/^Nothing to claim: paused\./);
  });

  test('a waiting claim gets a task that is enqueued into any of its queues', async () => {
    const { client, queues } = await fresh('wait', [], []);
    server().calls.length = 0;
    const claimed = json('claim', ...queues, '--wait', '100');
    onTestFinished(() => claimed.then(() => {}));
    const asks = `select exists (select from pg_stat_activity
      where pid <> pg_backend_pid() and datname = current_database() and query ~ 'claim_any\\(p_queues')`;
    await waitUntil('the claim waits', async () =>
      name === 'SQL' ? value(client, asks) : server().calls.length > 0,
    );
    const [id] = await enqueue(client, queues[1], [{ payload: 7 }]);
    expect((await claimed).leases).toMatchObject([{ queue: queues[1], tasks: [{ id }] }]);
    expect(server().calls).toEqual(name === 'HTTP' ? ['POST /v1/claim'] : []);
  });

  test('a mistake names the option and what is allowed', async () => {
    const many = Array.from({ length: 21 }, (_, n) => `q${n}`);
    const cases: [string[], RegExp][] = [
      [many, /^queues.* 1 to 20 /],
      [['a', 'no queue'], /^queue.*name/],
    ];
    for (const [args, expected] of cases) {
      const { code, out, err } = await cli('claim', ...args);
      expect(err).toMatch(expected);
      expect({ args, code, out }).toEqual({ args, code: 2, out: '' });
    }
  });
});

test('a claim whose answer is lost is repeated and returns the same leases', async () => {
  const client = await connect();
  const [first] = await enqueue(client, 'lost-1', [{}, {}]);
  const args = ['claim', 'lost-1', 'lost-2', '--json'];
  server().lose(1);
  const { out } = await tock(args, { env: http() });
  expect(JSON.parse(out).leases).toMatchObject([{ queue: 'lost-1', tasks: [{ id: first }] }]);
  const running = `select running::integer from tock.queue_stats() where queue = 'lost-1'`;
  expect(await value(client, running)).toBe(1);
});

test('invalid weights are refused before any call', async () => {
  for (const weights of ['3,1,1', '3,0', '1.5,1', '1001,1', '3,', 'all,1']) {
    const allowed = 'give a whole number from 1 to 1000 for each queue, such as 3,1.\n';
    const refused = { code: 2, out: '', err: `--weights ${weights}: ${allowed}` };
    expect(await tock(['claim', 'a', 'b', '--weights', weights])).toEqual(refused);
  }
});
