import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type DrainOptions, drain } from '../../functions/consumers/drain.ts';
import { withPush } from '../../functions/push/consumers.ts';
import { defineConsumer } from '../../functions/worker.ts';
import { type Service, service } from '../http/service.ts';
import { sleep } from '../sleep.ts';
import { makeDue, promote, value } from '../sql/verbs.ts';
import { conditionTimeout } from '../timeout.ts';
import { env, there, useReceiver } from './receiver.ts';

useReceiver();
let tock: Service;

beforeAll(async () => {
  tock = await service({ TOCK_PUSH_PRIVATE: 'allow' });
});
afterAll(() => tock.database.drop());

const quiet = { on_error: () => {} };
const drained = (options: DrainOptions = {}, bindings: object = env) =>
  drain(tock.connect, bindings, withPush([]), { ...quiet, ...options });

/** Creates a queue that pushes to a path with its name, and adds tasks. */
async function pushed(queue: string, tasks: object[], policy: object = {}, push: object = {}) {
  const own = { push: { url: `${there.url}/${queue}`, ...push }, ...policy };
  await tock.owner.query('select tock.put_queue($1, $2)', [queue, JSON.stringify(own)]);
  const sent = await tock.send(`POST /v1/queues/${queue}/tasks`, { body: { tasks } });
  return sent.body.ids as string[];
}

const taskOf = async (id: string | undefined) => (await tock.send(`GET /v1/tasks/${id}`)).body;

test.each([
  ['controls', 'text/plain', '\u0001'.repeat(70_000), true],
  ['digits', 'application/json', JSON.stringify(Array(9000).fill(1e300)), undefined],
  ['spaces', 'application/json', JSON.stringify(Array(30_000).fill(1)), undefined],
])(
  'a task is done even if its answer is larger when stored: %s',
  async (queue, type, body, cut) => {
    there.on(`/${queue}`, (response) => response.setHeader('content-type', type).end(body));
    const [id] = await pushed(queue, [{ payload: 1 }]);
    expect(await drained()).toMatchObject({ done: 1, failed: 0 });
    const { state, result } = await taskOf(id);
    expect([state, result.status, result.cut]).toEqual(['done', 200, cut]);
    const kept = typeof result.body === 'string' ? result.body : JSON.stringify(result.body);
    expect([body.startsWith(kept), kept.length > 30_000]).toEqual([true, true]);
  },
);

test('the rest of an answer is not read after its push has ended', async () => {
  there.on('/more', (response) => {
    response.writeHead(205);
    const timer = setInterval(() => response.write('x'), 5);
    response.on('close', () => clearInterval(timer));
  });
  await pushed('more', [{ payload: 1 }]);
  expect(await drained()).toMatchObject({ done: 1 });
  await expect.poll(() => there.open()).toBe(0);
});

test("a task's own push URL is used instead of its queue's", async () => {
  const own = there.on('/own', 200);
  await pushed('either', [{ payload: 1, push_url: own }, { payload: 2 }]);
  await drained();
  const bodies = (path: string) => there.at(path).map(({ body }) => body);
  expect([bodies('/own'), bodies('/either')]).toEqual([['1'], ['2']]);
});

test('a failed task is pushed again with the same webhook-id, after Retry-After', async () => {
  there.on('/again', (response, _got, count) => {
    if (count === 1) response.writeHead(503, { 'retry-after': '60' }).end('busy');
    else response.writeHead(201).end();
  });
  const [id] = await pushed('again', [{ payload: 1 }]);
  expect(await drained()).toMatchObject({ done: 0, failed: 1 });
  const task = await taskOf(id);
  const wait = (Date.parse(task.run_at) - Date.parse(task.runs[0].ended_at)) / 1000;
  expect(Math.abs(wait - 60)).toBeLessThan(1);
  const message = `503 from ${there.url}/again`;
  const error = { name: 'Unavailable', message, status: 503, body: 'busy' };
  expect(task.runs[0].error).toEqual(error);
  await makeDue(tock.owner, 'again');
  await promote(tock.owner);
  expect(await drained()).toMatchObject({ done: 1 });
  const sent = there.at('/again').map(({ headers }) => headers);
  expect(sent.map((each) => each['webhook-id'])).toEqual([id, id]);
  expect(sent.map((each) => each['tock-attempt'])).toEqual(['1', '2']);
});

test('a push whose answer is too slow, in its head or body, fails', async () => {
  there.on('/slow', (response, { body }) => {
    if (body === '"body"') response.writeHead(200).write('x');
    if (body === '"trickle"') {
      response.writeHead(200);
      const timer = setInterval(() => response.write('x'), 50);
      response.on('close', () => clearInterval(timer));
    }
  });
  const tasks = ['head', 'body', 'trickle'].map((payload) => ({ payload }));
  const ids = await pushed('slow', tasks, { backoff_base_seconds: 3600 }, { timeout_seconds: 1 });
  expect(await drained()).toMatchObject({ failed: 3 });
  for (const id of ids) {
    const { state, runs } = await taskOf(id);
    expect(state).toBe('waiting');
    expect(runs[0].error).toMatchObject({ name: 'TimedOut', message: 'no answer within 1 s' });
  }
});

test("a push that the Worker's time limit ends is released, which counts as no attempt", async () => {
  there.on('/cut', () => {});
  const [id] = await pushed('cut', [{ payload: 1 }], {}, { timeout_seconds: 20 });
  // On a busy machine a drain may end before it has claimed, or before its report arrives.
  const released = async () => (await drained({ seconds: 8 })).released;
  await expect.poll(released, { timeout: conditionTimeout }).toBe(1);
  expect(await taskOf(id)).toMatchObject({ state: 'ready', attempt: 1, lost: 0 });
  expect(there.open()).toBe(0);
  await tock.owner.query("select tock.put_queue('cut', '{\"paused\": true}')");
});

/** Answers requests when five are open or all have arrived. Records the maximum number of open requests. */
function fiveOf(all: number) {
  const open: ServerResponse[] = [];
  let [most, come] = [0, 0];
  const answering = (response: ServerResponse) => {
    come++;
    most = Math.max(most, open.push(response));
    // A request leaves the list before its answer is sent, so the next push does not count as a sixth. The pause leaves
    // time for a real sixth request; a shorter one could miss it.
    const answer = () => {
      for (const openResponse of open.splice(0)) openResponse.end();
    };
    if (open.length === 5 || come === all) void sleep(50).then(answer);
  };
  return { answering, most: () => most };
}

test('at most five pushes run at once, over all queues', async () => {
  const many = fiveOf(14);
  for (const queue of [...'abcdefg'].map((letter) => `many-${letter}`)) {
    there.on(`/${queue}`, many.answering);
    await pushed(queue, [{ payload: 1 }, { payload: 2 }]);
  }
  expect(await drained()).toMatchObject({ done: 14 });
  expect(many.most()).toBe(5);
  const single = fiveOf(12);
  there.on('/many-a', single.answering);
  await pushed('many-a', Array(12).fill({ payload: 1 }));
  expect(await drained()).toMatchObject({ done: 12 });
  expect(single.most()).toBe(5);
});

test('a drain pushes more queues than one lookup returns', async () => {
  const queues = Array.from({ length: 25 }, (_, n) => `crowd-${n}`);
  for (const queue of queues) await pushed(queue, [{ payload: 1 }]);
  expect(await drained()).toMatchObject({ done: 25 });
});

test("a queue's rate limits its pushes", async () => {
  await pushed('rated', Array(3).fill({ payload: 1 }), { rate_limit: 2, rate_seconds: 3600 });
  const { done, again_seconds } = await drained();
  expect([done, there.at('/rated').length]).toEqual([2, 2]);
  expect(again_seconds).toBeGreaterThan(1);
});

test('max_running and concurrency keys limit pushes', async () => {
  let most = 0;
  const open = new Set<string>();
  for (const path of ['/single', '/limited']) {
    there.on(path, (response, { headers }) => {
      open.add(headers['webhook-id'] as string);
      most = Math.max(most, open.size);
      // The pause leaves time for a second request that would be wrong. A shorter one could miss it.
      void sleep(20).then(() => {
        open.delete(headers['webhook-id'] as string);
        response.end();
      });
    });
  }
  await pushed('single', [{ payload: 1 }, { payload: 2 }], { max_running: 1 });
  expect(await drained()).toMatchObject({ done: 2 });
  expect(most).toBe(1);
  await pushed('limited', Array(2).fill({ payload: 1, concurrency_key: 'one' }));
  while (there.at('/limited').length < 2) await drained();
  expect(most).toBe(1);
});

test('a queue with a consumer in the Worker is not pushed', async () => {
  await pushed('both', [{ payload: 1 }]);
  const seen: unknown[] = [];
  const own = defineConsumer({ queue: 'both', handler: (task) => void seen.push(task.payload) });
  await drain(tock.connect, env, withPush([own]), quiet);
  expect([seen, there.at('/both')]).toEqual([[1], []]);
});

test('without a secret nothing is pushed, and with an invalid one the consumers still work', async () => {
  const [id] = await pushed('unsigned', [{ payload: 1 }]);
  expect(await drained({}, {})).toMatchObject({ done: 0, failed: 0 });
  expect((await taskOf(id)).state).toBe('ready');
  await tock.send('POST /v1/queues/own/tasks', { body: { payload: 1 } });
  const own = defineConsumer({ queue: 'own', handler: () => {} });
  const bad = { TOCK_PUSH_SECRET: 'short' };
  expect(await drain(tock.connect, bad, withPush([own]), quiet)).toMatchObject({ done: 1 });
  await drained();
});

const findingsOf = async (question: string) =>
  (await tock.owner.query<{ finding: string; detail: string }>(question)).rows
    .filter(({ finding }) => ['tasks die', 'pushes are refused'].includes(finding))
    .map(({ finding, detail }) => `${finding}: ${detail}`);

test('a push URL set in SQL to a private address makes the task dead, and why() and doctor() report it', async () => {
  const enqueue = 'select tock.enqueue($1, $2)';
  const put = 'select tock.put_queue($1, $2)';
  await tock.owner.query(put, ['private', `{"push": {"url": "${there.url}/private"}}`]);
  await tock.owner.query(enqueue, ['private', '[{}, {}]']);
  await tock.owner.query(put, ['private-own', '{"push": {}}']);
  await tock.owner.query(enqueue, ['private-own', '[{"push_url": "https://[::ffff:10.0.0.1]/x"}]']);
  await drained({}, { TOCK_PUSH_SECRET: env.TOCK_PUSH_SECRET });
  expect(there.at('/private')).toEqual([]);
  expect(await findingsOf("select * from tock.why('private')")).toEqual([
    expect.stringMatching(
      /^tasks die: 2 tasks have died, the last \d+ s ago, of: push refused: it/,
    ),
  ]);
  expect(await findingsOf("select * from tock.why('private-own')")).toEqual([
    expect.stringMatching(/1 task .*: push refused: ::ffff:a00:1 is not a public address: https:/),
  ]);
  const [refused, ...more] = await findingsOf('select * from tock.doctor()');
  expect(more).toEqual([]);
  expect(refused).toMatch(
    /^pushes are refused: private \(2 tasks, the newest \d+: it is not https: http:.*\/private\), private-own \(1 task, .* not a public address: [^)]*\)/,
  );
  const id = /newest (\d+)/.exec(refused ?? '')?.[1];
  expect(await taskOf(id)).toMatchObject({ state: 'dead', error: { name: 'NotAllowed' } });
});

test('a dead_webhook set in SQL to a private address is reported too', async () => {
  const policy = { max_attempts: 1, dead_webhook: { url: 'https://10.0.0.9/died' } };
  await tock.owner.query('select tock.put_queue($1, $2)', ['mourned', JSON.stringify(policy)]);
  await tock.owner.query("select tock.enqueue('mourned', '[{}]')");
  await tock.owner.query("select tock.fail(lease) from tock.claim('mourned')");
  await value(tock.owner, "select tock.run_maintenance('send_dead_task_events')");
  await drained({}, { TOCK_PUSH_SECRET: env.TOCK_PUSH_SECRET });
  expect((await findingsOf('select * from tock.doctor()')).join()).toMatch(
    /tock-webhooks \(1 task, the newest \d+: 10\.0\.0\.9 is not a public address: https:\/\/10\.0\.0\.9\/died\)/,
  );
});

test('a task without any push URL is dead, with the reason', async () => {
  const [id] = await pushed('lost', [{ payload: 1 }]);
  await tock.owner.query(`select tock.put_queue('lost', '{"push": {}}')`);
  await drained();
  const message = 'neither this task nor its queue has a push URL';
  expect(await taskOf(id)).toMatchObject({ state: 'dead', error: { message } });
});
