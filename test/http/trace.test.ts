import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';
import { traceOf } from '../../functions/http/trace.ts';
import { fileService } from './file_service.ts';

const tock = fileService();

const id = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${id}-00f067aa0ba902b7-01`;
const unsampled = `00-${id}-00f067aa0ba902b7-00`;
const all = { traceparent, tracestate: 'congo=t61rcWkgMzE', baggage: 'userId=ann;p=1,shop=7' };

/** Enqueues tasks with this body and these headers. Returns the tasks' headers as a claim returns them. */
async function kept(body: object, headers: Record<string, string> = all, env: Bindings = {}) {
  const app = createApp(tock.connect);
  const own = { authorization: `Bearer ${tock.key}`, 'content-type': 'application/json' };
  const init = { method: 'POST', headers: { ...own, ...headers }, body: JSON.stringify(body) };
  const answer = await app.request('/v1/queues/t/tasks', init, env);
  expect(answer.status).toBe(201);
  const taskHeaders: (object | null)[] = [];
  for (;;) {
    const { lease, tasks } = await tock.claim('t', { limit: 100 });
    if (!lease) return taskHeaders;
    taskHeaders.push(...tasks.map((task: { headers: object | null }) => task.headers));
    await tock.post(`leases/${lease}/complete`);
  }
}

test('a task keeps the trace of its request, also in a batch, and keeps its own trace if it has one', async () => {
  expect(await kept({ payload: 1 })).toEqual([all]);
  expect(await kept({ tasks: [{ payload: 1 }, { priority: 6, headers: {} }] })).toEqual([all, all]);
  const own = { traceparent: traceparent.replace('4bf', '5bf') };
  expect(await kept({ payload: 1, headers: own })).toEqual([own]);
  expect(await kept({ payload: 1, headers: { 'x-own': '1', baggage: 'a=1' } })).toEqual([
    { ...all, 'x-own': '1', baggage: 'a=1' },
  ]);
  const many = Object.fromEntries(Array.from({ length: 19 }, (_, n) => [`h${n}`, '']));
  expect(await kept({ headers: many })).toEqual([many]);
  expect(await kept({ tasks: [] })).toEqual([]);
  expect(await kept({ payloads: [1, null] })).toEqual([all, all]);
});

test('a trace that is not kept does not change the statement', async () => {
  const statements = async (headers: Record<string, string>, env: Bindings = {}) => {
    const from = tock.statements.length;
    const [task] = await kept({ payload: 1 }, headers, env);
    return [task, tock.statements[from]?.text];
  };
  const plain = await statements({});
  expect(plain[0]).toBeNull();
  expect(await statements({ traceparent: unsampled })).toEqual(plain);
  expect(await statements(all, { TOCK_TRACE: 'off' })).toEqual(plain);
  expect(await statements({ traceparent: `${traceparent}, ${traceparent}` })).toEqual(plain);
  const whole = await statements({ traceparent: unsampled }, { TOCK_TRACE: 'all' });
  expect(whole[0]).toEqual({ traceparent: unsampled });
});

test.each([
  { payloads: [1, { b: 2, a: 1 }], request_id: 'payloads' },
  { tasks: [{ payload: 1 }, { payload: 2, headers: { a: '1' } }], request_id: 'tasks' },
])(
  'a call that is repeated with its request id may have another trace, or none: %j',
  async (body) => {
    const call = (headers: Record<string, string>, changed: object = {}) =>
      tock.send('POST /v1/queues/again/tasks', { body: { ...body, ...changed }, headers });
    const first = await call(all);
    const others = [{ traceparent: traceparent.replace('4bf', '5bf') }, {}, all];
    for (const headers of others as Record<string, string>[])
      expect(await call(headers)).toMatchObject({ status: 201, body: first.body });
    if (!body.tasks) return;
    const other = { tasks: [{ payload: 1 }, { payload: 2, headers: { a: '2' } }] };
    expect((await call(all, other)).status).toBe(422);
  },
);

test("only an enqueue gives a task its request's trace: spawns, reruns and schedules do not", async () => {
  const traced = (route: string, body: object) => tock.send(route, { body, headers: all });
  const claim = async (queue: string) => {
    const { lease, tasks } = await tock.claim(queue);
    return { lease, id: tasks[0]?.id, headers: tasks[0]?.headers };
  };
  const later = { traceparent: traceparent.replace('4bf', '5bf') };
  await tock.send('POST /v1/queues/one/tasks', { body: {}, headers: later });
  const { lease, id, headers } = await claim('one');
  expect(headers).toEqual(later);
  const spawn = { queue: 'child', tasks: [{ payload: 1 }] };
  await traced(`POST /v1/leases/${lease}/complete`, { results: [{ id, spawn }] });
  expect((await claim('child')).headers).toBeNull();
  await traced('POST /v1/tasks/rerun', { ids: [id] });
  expect((await claim('one')).headers).toEqual(later);
  await traced('PUT /v1/schedules/timed', { queue: 'timed', every_seconds: 3600 });
  await traced('POST /v1/schedules/timed/run', {});
  expect(await claim('timed')).toMatchObject({ id: expect.any(String), headers: null });
});

test.each([
  ['x', 'no trace'],
  [traceparent.toUpperCase(), 'capitals'],
  [`ff${traceparent.slice(2)}`, 'version ff'],
  [`00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, 'no trace id'],
  [`${traceparent}-more`, 'more than version 00 has'],
  [`01${traceparent.slice(2)}-${'x'.repeat(300)}`, 'without end'],
  [` ${traceparent}`, 'a space'],
])('the traceparent "%s" is ignored: %s', (header) => {
  expect(traceOf((name) => (name === 'traceparent' ? header : undefined), {})).toBeNull();
});

test('a traceparent of a later version is kept unchanged', () => {
  const later = `01${traceparent.slice(2)}-more`;
  expect(traceOf((name) => (name === 'traceparent' ? later : undefined), {})).toEqual({
    traceparent: later,
  });
});

test.each([
  ['tracestate', 'tenant@sys=1, ,b=2', true],
  ['tracestate', 'a=1,a=2', false],
  ['tracestate', 'A=1', false],
  ['tracestate', 'a=1=2', false],
  ['tracestate', `a=${'x'.repeat(256)},b=${'x'.repeat(255)}`, false],
  ['tracestate', Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(), false],
  ['tracestate', ' a=1\t', true],
  ['baggage', ' a = 1 ; p ; q = ; r\t= 2 ,, b =', true],
  ['baggage', 'a=1;', false],
  ['baggage', 'a=1;=2', false],
  ['baggage', 'a=1 2', false],
  ['baggage', 'a="1"', false],
  ['baggage', `a=${'x'.repeat(4095)}`, false],
])('%s %s is kept: %s', (name, value, good) => {
  const headers: Record<string, string> = { traceparent, [name]: value };
  const trace = traceOf((header) => headers[header], {});
  expect(trace).toEqual(good ? headers : { traceparent });
});

test.each([
  ['tracestate', `a=${' '.repeat(500)}=`],
  ['tracestate', `${' '.repeat(200_000)}=`],
  ['baggage', `a=b${';c= '.repeat(900)};"`],
  ['baggage', `a=${' '.repeat(4000)}"`],
  ['baggage', `a=1${',b = 1 ; c = 2 '.repeat(20_000)}"`],
])('a malicious %s is checked in linear time', (name, value) => {
  const headers: Record<string, string> = { traceparent, [name]: value };
  const read = () => traceOf((header) => headers[header], {});
  expect(runInNewContext('read()', { read }, { timeout: 10_000 })).toEqual({ traceparent });
});
