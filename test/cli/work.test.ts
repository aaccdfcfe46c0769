import { describe, expect, onTestFinished, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { enqueue, expire, value, waitUntil } from '../sql/verbs.ts';
import { execute, tock } from './tock.ts';
import { transports } from './transports.ts';

const { http, both, connect, server } = transports('enqueue,claim,read,admin');

const worker = `
tock() { "$NODE" "$MAIN" "$@"; }
tock claim "$QUEUE" --limit 9 --worker "shell 1" | {
  read -r lease
  while read -r id payload; do
    case $payload in
      *bad*) printf 'no such\\nuser\\n' | tock fail "$lease" "$id" --error - --fatal ;;
      *) printf '%s' "$payload" | tock complete "$lease" "$id" --result - ;;
    esac
  done
}`;

async function expectMistakes(env: NodeJS.ProcessEnv, cases: [string[], RegExp][]) {
  for (const [args, expected] of cases) {
    const { code, out, err } = await tock(args, { env });
    expect(err).toMatch(expected);
    expect({ args, code, out }).toEqual({ args, code: 2, out: '' });
  }
}

describe.each(both)('over %s', (name, env) => {
  const cli = (...args: string[]) => tock(args, { env: env() });
  const json = async (...args: string[]) => {
    const { code, out, err } = await cli(...args, '--json');
    expect([code, err]).toEqual([0, '']);
    return JSON.parse(out);
  };
  const fresh = async (what: string, tasks: object[]) => {
    const queue = `${what}-${name}`;
    const client = await connect();
    return { queue, client, ids: await enqueue(client, queue, tasks) };
  };

  test('a shell script is a worker', async () => {
    const number = '{"n": 12345678901234567890, "s": "two words", "x": 1.50}';
    const client = await connect();
    const queue = `script-${name}`;
    const ids = await value<string[]>(client, 'select tock.enqueue($1, $2)', [
      queue,
      `[{"payload": ${number}}, {"payload": "bad"}, {}]`,
    ]);
    const MAIN = `${checkout}/cli/main.ts`;
    const NODE = process.execPath;
    const run = await execute(['sh', '-c', worker], {
      env: { TOCK_HOME: '/', ...env(), NODE, MAIN, QUEUE: queue },
    });
    const out = '1 completed\n1 failed, 1 of them dead\n1 completed\n';
    expect(run).toEqual({ code: 0, err: '', out });
    const result = 'select result::text from tock.task($1)';
    expect(await value(client, result, [ids[0]])).toBe(number);
    expect(await json('task', ids[1] as string)).toMatchObject({
      state: 'dead',
      error: { message: 'no such\nuser' },
      runs: [{ worker: 'shell 1' }],
    });
    expect((await json('task', ids[2] as string)).state).toBe('done');
  });

  test('a worker reports progress, learns of a cancel, and releases the rest', async () => {
    const { queue, ids } = await fresh('progress', [{}, {}, {}]);
    const [first, second, third] = ids as [string, string, string];
    const claimed = await json('claim', queue, '--limit', '3', '--lease', '500');
    expect(claimed).toMatchObject({ state: 'found', tasks: ids.map((id) => ({ id, attempt: 1 })) });
    const { lease } = claimed;
    const longer = await json('extend', lease, '--lease', '1000');
    const seconds = (Date.parse(longer.leased_until) - Date.parse(claimed.leased_until)) / 1000;
    expect(seconds).toBeGreaterThan(400);
    const all = await cli('extend', lease, '--progress', '50', '--note', 'half way');
    expect(all).toMatchObject({ code: 0, err: '' });
    expect(all.out).toMatch(/^3 tasks are leased until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n$/);
    await cli('extend', lease, third, '--progress', '75');
    expect((await cli('task', first)).out).toMatch(/\nprogress +50 %, half way\n/);
    expect(await json('task', third)).toMatchObject({ progress: 75, state: 'running' });
    await cli('cancel', second);
    expect((await cli('extend', lease)).out).toMatch(
      new RegExp(`\n${second} is cancelled: stop working on it\n$`),
    );
    expect((await cli('fail', lease, second, '--error', 'stopped')).code).toBe(0);
    expect((await cli('complete', lease, first, '--result', '{"sent": 2}')).code).toBe(0);
    expect((await cli('release', lease, third)).out).toBe('1 released\n');
    expect(await json('task', first)).toMatchObject({ state: 'done', result: { sent: 2 } });
    expect((await json('task', second)).state).toBe('cancelled');
    expect(await json('task', third)).toMatchObject({ state: 'ready', attempt: 1 });
  });

  test('a failed task is retried after the delay that its worker gives', async () => {
    const { queue, ids } = await fresh('retry', [{}]);
    const { lease } = await json('claim', queue);
    const failed = await json('fail', lease, '--error', 'busy', '--retry-in', '5000');
    expect(failed).toEqual({ failed: 1, dead: 0, refused: [] });
    const { state, run_at, runs } = await json('task', ids[0] as string);
    expect([state, runs[0].error]).toEqual(['waiting', { message: 'busy' }]);
    expect(Date.parse(run_at) - Date.parse(runs[0].ended_at)).toBeGreaterThan(4_900_000);
  });

  test('an ended lease and ids of other leases are refused', async () => {
    const { queue, client, ids } = await fresh('over', [{}]);
    const other = await fresh('other', [{}]);
    const { lease } = await json('claim', queue);
    const stranger = other.ids[0] as string;
    expect(await cli('complete', lease, ids[0] as string, stranger)).toEqual({
      code: 1,
      out: '1 completed\n',
      err: `1 of 2 ids do not belong to this lease, or had ended differently: ${stranger}.\n`,
    });
    const { lease: lost } = await json('claim', other.queue);
    await expire(client, lost);
    await client.query('select tock.reap(p_sweep => true)');
    for (const verb of ['complete', 'fail', 'release', 'extend']) {
      const { code, out, err } = await cli(verb, lost);
      expect([verb, code, out]).toEqual([verb, 1, '']);
      expect(err).toMatch(
        /^This lease is not valid any more: .*\nDiscard the work and claim again; /,
      );
    }
  });

  test('a claim without tasks says so, and a waiting claim gets a later task', async () => {
    const queue = `wait-${name}`;
    expect(await cli('claim', queue)).toEqual({
      code: 0,
      out: '',
      err: 'Nothing to claim: empty. Retry in 30 s.\n',
    });
    expect(await json('claim', queue)).toMatchObject({ lease: null, state: 'empty', tasks: [] });
    const client = await connect();
    server().calls.length = 0;
    const claimed = json('claim', queue, '--wait', '100');
    onTestFinished(() => claimed.then(() => {}));
    const asks = `select exists (select from pg_stat_activity
      where pid <> pg_backend_pid() and datname = current_database() and query ~ 'tock\\.next\\(p_queue')`;
    await waitUntil('the claim waits', async () =>
      name === 'SQL' ? value(client, asks) : server().calls.length > 0,
    );
    const [id] = await enqueue(client, queue, [{ payload: 7 }]);
    expect((await claimed).tasks).toMatchObject([{ id, payload: 7 }]);
  });

  test('a mistake names the option and what is allowed', async () => {
    const { queue, ids } = await fresh('mistakes', [{}]);
    const { lease } = await json('claim', queue);
    await expectMistakes(env(), [
      [['claim', 'no queue'], /^queue: a (queue's )?name/],
      [['fail', lease, '--retry-in', '-1'], /^--retry-in: .*number from 0 to 315360000\b/],
      [['extend', lease, ...ids, '--progress', '-1'], /^--progress.* a number from 0 to 100\n/],
      [['extend', lease, '--note', 'n'.repeat(501)], /^--note: .*string of up to 500 characters\n/],
    ]);
  });
});

test('a claim and a completion whose answers are lost are repeated without a second effect', async () => {
  const client = await connect();
  const ids = await enqueue(client, 'lost', [{}, {}]);
  server().lose(1);
  const claimed = await tock(['claim', 'lost', '--json'], { env: http() });
  const { lease, tasks } = JSON.parse(claimed.out);
  expect(tasks).toMatchObject([{ id: ids[0] }]);
  server().lose(1);
  const done = await tock(['complete', lease, ids[0] as string], { env: http() });
  expect(done).toEqual({ code: 0, out: '1 completed\n', err: '' });
});

test('other mistakes are refused before any call', async () => {
  const lease = '799408d8-b361-4906-80a5-235ce0000001';
  await expectMistakes({}, [
    [['claim', 'q', '--limit', '0'], /'--limit <n>' .* whole number from 1 to 10000\./],
    [['complete', 'mine'], /^mine is not a lease\.\nA lease is a UUID, as claim printed it\.\n$/],
    [['complete', lease, '--result', '1'], /^--result is for single tasks: give the id/],
    [['complete', lease, '5', '--result', '{'], /^The result is not JSON: /],
    [['complete', lease, 'first'], /^first is not a task id\./],
    [['extend', lease, '5'], /^An extension concerns the whole lease: give ids only with/],
  ]);
});
