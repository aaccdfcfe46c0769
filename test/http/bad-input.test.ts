import { json, raw, serviceForRefusals, testRefusals } from './refusals.ts';
import type { Send } from './service.ts';

// test/fuzz makes each mistake that the OpenAPI document excludes. These are others, and one of each kind.
serviceForRefusals();

const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const first = (task: object): Send => ({ body: { tasks: [{ payload: 1 }, task] } });
const taskWith = (options: string): Send => raw(`{"payload": 1, ${options}}`);
const large = 'x'.repeat(262_300);
const names = Object.fromEntries(Array.from({ length: 300_000 }, (_, n) => [`h${n}`, n]));
const head = (headers: Record<string, string>, body: object = {}): Send => ({ body, headers });
const form = { raw: 'payload=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
const run_at = '2030-01-31T09:00:00Z';
const at = 'payload[0][0][0][0][0][0][0]';

testRefusals('POST /v1/queues/q/tasks', [
  ['nothing at all', 400, 'body', {}],
  ['malformed JSON', 400, 'body', raw('{"payload": ')],
  ['bytes that are not UTF-8', 400, 'body', raw(new Uint8Array([0x22, 0xff, 0x22]))],
  ['a list', 422, 'body', raw('[]')],
  ['null', 422, 'body', raw('null')],
  ['a form', 415, 'Content-Type', form],
  ['more than 5 MiB', 413, 'body', raw(`{"payload": "${'x'.repeat(5 * 1024 * 1024)}"}`)],
  ['one large payload of many', 422, 'tasks[1].payload', first({ payload: large })],
  ['a million tasks that are none', 422, 'tasks', json({ tasks: Array(1_000_000).fill(0) })],
  ['a misspelt option in a batch', 422, 'tasks[1].prioritty', first({ prioritty: 1 })],
  ['an option beside tasks', 422, 'priority', json({ tasks: [], priority: 1 })],
  ['__proto__ as an option', 422, '__proto__', taskWith('"__proto__": {"priority": 1}')],
  ['a delay in a string', 422, 'delay_seconds', taskWith('"delay_seconds": "5"')],
  ['an infinite delay', 422, 'delay_seconds', taskWith('"delay_seconds": 1e400')],
  ['a time without a zone', 422, 'run_at', taskWith('"run_at": "2030-01-31T09:00:00"')],
  ['a day that is none', 422, 'run_at', taskWith('"run_at": "2030-02-30T09:00:00Z"')],
  ['an absurd zone', 422, 'run_at', taskWith('"run_at": "2030-01-01T00:00:00+99:99"')],
  ['a year before 1970', 422, 'run_at', taskWith('"run_at": "0001-01-01T00:00:00Z"')],
  ['both delay and time', 422, 'delay_seconds', json({ delay_seconds: 1, run_at })],
  ['a priority that a double rounds', 422, 'priority', taskWith('"priority": 4.99999999999999999')],
  ['NUL in a payload', 422, 'tasks[1].payload.a[2]', first({ payload: { a: [1, 2, 'x\0'] } })],
  ['NUL in a key', 422, 'payload.a', json({ payload: { a: { 'x\0': 1 } } })],
  ['half of a surrogate pair', 422, 'payload', raw('{"payload": "\\ud83d"}')],
  ['a number of 400 digits', 422, 'payload.n', raw('{"payload": {"n": 1e400}}')],
  ['a number of 131,000 digits', 422, 'payload[1]', raw('{"payload": [true, 1E+131000]}')],
  ['nesting of 600 levels', 422, at, raw(`{"payload": ${deep(600)}}`)],
  ['nesting of 2 million levels', 422, at, raw(`{"payload": ${deep(2_000_000)}}`)],
  ['headers of 300,000 names', 422, 'headers', json({ headers: names })],
  ['a header of two lines', 422, 'headers.a', json({ headers: { a: 'b\r\nc' } })],
  ['a header name that is none', 422, 'tasks[1].headers.A', first({ headers: { A: 'b' } })],
  ['a push_url where nobody pushes', 422, 'push_url', json({ push_url: 'https://c.example/' })],
  ['a stage that is no name', 422, 'tasks[1].pipeline[1]', first({ pipeline: ['q', 'a b'] })],
  ['an unknown parent', 422, 'depends_on[0]', json({ depends_on: ['a'] })],
  ['a long Idempotency-Key', 422, 'Idempotency-Key', head({ 'Idempotency-Key': 'x'.repeat(201) })],
  ['two request ids', 422, 'request_id', head({ 'Idempotency-Key': 'b' }, { request_id: 'a' })],
]);

testRefusals('PATCH /v1/tasks/:task', [
  ['no changes', 422, 'body', json({})],
  ['both delay and time', 422, 'delay_seconds', json({ delay_seconds: 1, run_at })],
  ['a large payload', 422, 'payload', json({ payload: large })],
  ['NUL in the payload', 422, 'payload.a[1]', json({ payload: { a: [1, 'x\0'] } })],
  ['an option of enqueue', 422, 'tenant', json({ priority: 1, tenant: 'a' })],
]);
testRefusals('POST /v1/leases/:lease/complete', [
  ['an id in a number', 422, 'results[0].id', json({ results: [{ id: 1 }] })],
  ['an id of 2^63', 422, 'results[0].id', json({ results: [{ id: '9223372036854775808' }] })],
  ['an id twice', 422, 'results[1].id', json({ results: [{ id: '1048577' }, { id: '1048577' }] })],
  ['a large result', 422, 'results[0].result', json({ results: [{ id: '1', result: large }] })],
]);
testRefusals('POST /v1/leases/:lease/fail', [
  ['fatal and a retry', 422, 'retry_in_seconds', json({ fatal: true, retry_in_seconds: 1 })],
  ['an option beside failures', 422, 'fatal', json({ failures: [{ id: '1' }], fatal: true })],
]);
testRefusals('POST /v1/leases/:lease/extend', [
  ['no progress at all', 422, 'progress', json({ progress: {} })],
  ['an id beside all', 422, 'progress.id', json({ progress: { id: '1', progress: 1 } })],
  [
    'no progress of one',
    422,
    'progress[1]',
    json({ progress: [{ id: '1', note: '' }, { id: '2' }] }),
  ],
]);
testRefusals('POST /v1/queues/q/bulk-changes', [
  ['a state that has ended', 422, 'state', json({ change: 'cancel', state: 'dead' })],
  ['a priority for a cancel', 422, 'priority', json({ change: 'cancel', priority: 1 })],
  ['no priority', 422, 'priority', json({ change: 'reprioritize' })],
  [
    'the queue of webhooks',
    422,
    'to_queue',
    json({ change: 'redrive', to_queue: 'tock-webhooks' }),
  ],
]);
testRefusals('POST /v1/tasks/cancel', [
  ['10,001 ids', 422, 'ids', json({ ids: Array(10_001).fill('1') })],
]);

const none = json({});
for (const [route, what, status, field, options = {}] of [
  ['POST /v1/queues/q/tasks?priority=1', 'a query string', 422, 'priority', none],
  ['POST /v1/queues/a%20b/tasks', 'a queue that is no name', 422, 'queue', none],
  ['POST /v1/queues/%00/tasks', 'NUL in the queue', 422, 'queue', none],
  ['POST /v1/queues/%E0%A4%A/tasks', 'a broken escape', 422, 'queue', none],
  ['POST /v1/queues/*/tasks', 'the default policy', 422, 'queue', none],
  ['POST /v1/leases/42/complete', 'a lease that is no UUID', 422, 'lease', none],
  ['POST /v1/tasks/:task/rerun', 'a waiting task', 409, 'id', none],
  ['POST /v1/tasks/rerun', 'nothing at all', 400, 'body'],
  ['GET /v1/tasks/abc', 'an id that is none', 422, 'id'],
  ['GET /v1/tasks/0', 'id 0', 422, 'id'],
  ['GET /v1/tasks/9223372036854775808', 'an id of 2^63', 422, 'id'],
  ['GET /v1/tasks/1?wait_seconds=1e1', 'a number in another way', 422, 'wait_seconds'],
  ['GET /v1/tasks/1?wait_seconds=', 'an empty wait', 422, 'wait_seconds'],
  ['GET /v1/tasks/1?wait_seconds=1&wait_seconds=2', 'a wait twice', 422, 'wait_seconds'],
  ['GET /v1/tasks/1?__proto__=1', 'a strange option', 422, '__proto__'],
  ['GET /v1/tasks?queue=q&tenant=%00', 'NUL', 422, 'tenant'],
  ['GET /v1/tasks?queue=q&cursor=5b5dx', 'a cursor of another kind', 422, 'cursor'],
  ['GET /v1/queues/*/dead', 'the default policy', 422, 'queue'],
  ['DELETE /v1/tasks/:task/payload?force=1', 'a query string', 422, 'force'],
  ['DELETE /v1/queues/*', 'the default policy', 422, 'queue'],
  ['DELETE /v1/queues/q', 'a queue that is not paused', 409, 'queue'],
  ['DELETE /v1/keys/tock', 'a prefix that is none', 422, 'prefix'],
] as const)
  testRefusals(route, [[what, status, field, options]]);

testRefusals('PUT /v1/queues/q', [
  ['null', 422, 'lanes', json({ lanes: null })],
  ['what is internal', 422, 'home', json({ home: 1 })],
  [
    'a push URL with a password',
    422,
    'push.url',
    json({ push: { url: 'https://a:b@c.example/' } }),
  ],
  ['a push URL with NUL', 422, 'push.url', json({ push: { url: 'https://c.example/\0' } })],
]);
testRefusals('PUT /v1/queues/*', [['push for all', 422, 'push', json({ push: {} })]]);
testRefusals('POST /v1/keys', [
  [
    'a queue that is no name',
    422,
    'queues[0]',
    json({ name: 'k', scopes: ['read'], queues: ['*'] }),
  ],
]);
