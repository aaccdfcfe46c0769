import { describe, expect, test } from 'vitest';
import { enqueue as addTasks, claim as claimRuns, complete, type Run } from '../sql/verbs.ts';
import { tock } from './tock.ts';
import { transports } from './transports.ts';

const { both, connect } = transports('enqueue,read,admin');
let count = 0;

async function enqueue(...tasks: object[]) {
  const queue = `cli${++count}`;
  return { queue, ids: (await addTasks(await connect(), queue, tasks)) as [string, ...string[]] };
}

/** Claims a task, and completes it if `done`. */
async function claim(queue: string, done: boolean): Promise<string> {
  const client = await connect();
  const [run] = (await claimRuns(client, queue)) as [Run];
  if (done) await complete(client, run.lease, [{ id: run.id, result: 'r' }]);
  return run.id;
}

describe.each(both)('over %s', (_name, env) => {
  const cli = (args: string[], input?: string) => tock(args, { env: env(), input });
  const json = async (args: string[], input?: string) =>
    JSON.parse((await cli([...args, '--json'], input)).out);

  test('only tasks that have not ended are cancelled', async () => {
    const tasks = [{ priority: 0 }, { priority: 1 }, {}, { delay_seconds: 60 }];
    const { queue, ids } = await enqueue(...tasks);
    const done = await claim(queue, true);
    const running = await claim(queue, false);
    const [ready, waiting] = ids.slice(2) as [string, string];
    const first = await cli(['cancel', ready, running]);
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(first.out.split('\n').sort()).toEqual(
      ['', `${ready} is cancelled`, `${running} is running: its worker is notified`].sort(),
    );
    expect((await cli(['cancel', ready])).out).toBe(`${ready} was already cancelled\n`);
    expect((await json(['task', ready])).state).toBe('cancelled');

    const late = await cli(['cancel', done, waiting]);
    expect(late).toMatchObject({ code: 1, err: '1 of 2 tasks had already ended.\n' });
    expect(late.out).toContain(`${done} has ended: it is done\n`);
    expect(late.out).toContain(`${waiting} is cancelled\n`);
    expect(await json(['cancel', done])).toEqual({
      tasks: [{ id: done, state: 'done', changed: false }],
    });
    const unknown = await cli(['cancel', '9223372036854775807', ready]);
    expect(unknown).toMatchObject({ code: 3, out: `${ready} was already cancelled\n` });
    expect(unknown.err).toMatch(/^There is no task 9223372036854775807\.\n/);
  });

  test('a changed payload keeps its exact form', async () => {
    const { queue, ids } = await enqueue({ payload: 1 }, { delay_seconds: 60 });
    const [id, waiting] = ids as [string, string];
    const payload = '{"n": 12345678901234567890}';
    const changed = await cli(['change', id, '--priority', '0', '--payload', payload]);
    expect(changed).toMatchObject({ code: 0, out: `${id} is changed\n` });
    const stored = 'select priority, payload::text from tock.task(p_id => $1)';
    const { rows } = await (await connect()).query(stored, [id]);
    expect(rows).toEqual([{ priority: 0, payload }]);
    const at = '2031-01-31T09:00:00.000Z';
    const answer = { id: waiting, state: 'waiting', changed: true };
    expect(await json(['change', waiting, '--run-at', at])).toEqual(answer);
    expect(new Date((await json(['task', waiting])).run_at).toISOString()).toBe(at);
    await cli(['change', waiting, '--delay', '0', '--payload', '-'], '"from stdin"\n');
    expect(await json(['task', waiting])).toMatchObject({ state: 'ready', payload: 'from stdin' });

    const running = await claim(queue, false);
    expect((await cli(['change', running, '--priority', '1'])).out).toMatch(/its next attempt/);
  });

  test('an ended task cannot be changed, but it can be erased', async () => {
    const { queue, ids } = await enqueue({ payload: 'secret' });
    const [id] = ids;
    const early = await cli(['erase', id]);
    expect(early).toMatchObject({ code: 1, out: '' });
    await claim(queue, true);
    const late = await cli(['change', id, '--priority', '1']);
    expect(late).toMatchObject({ code: 1, out: '' });
    expect(late.err).toMatch(/^This task has ended: it is done\.\n/);
    expect(late.err).not.toMatch(/GET /);
    const erased = await json(['erase', id]);
    expect(erased).toEqual({ erased: expect.any(Number) });
    expect(erased.erased).toBeGreaterThan(0);
    expect(await json(['task', id])).toMatchObject({ state: 'done', payload: null, result: null });
    expect((await cli(['erase', id])).out).toMatch(
      /: (1 row is|(0|[2-9]|\d\d+) rows are) emptied\n$/,
    );
  });

  test('a mistake is refused before any call, with a hint', async () => {
    const [id] = (await enqueue({})).ids;
    const cases: [string[], number, RegExp][] = [
      [['cancel', id, 'one'], 2, /^one is not a task id/],
      [['cancel'], 2, /missing required argument 'id'/],
      [['change', id], 2, /^No change was given\.\nGive at least one of --priority/],
      [['change', id, '--run-at', 'soon'], 2, /^--run-at:? .*ISO 8601/],
      [
        ['change', id, '--payload', '{oops'],
        2,
        /^The payload is not JSON: .*\nA JSON string needs/,
      ],
      [['change', '9223372036854775807', '--priority', '1'], 3, /^There is no task/],
      [['erase', '9223372036854775807'], 3, /^There is no task/],
    ];
    for (const [args, code, expected] of cases) {
      const outcome = await cli(args);
      expect(outcome.err).toMatch(expected);
      expect(outcome.err).not.toMatch(/\n +at /);
      expect({ args, code: outcome.code, out: outcome.out }).toEqual({ args, code, out: '' });
    }
    expect((await json(['task', id])).state).toBe('ready');
  });
});
