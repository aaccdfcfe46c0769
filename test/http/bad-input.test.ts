import { json, raw, serviceForRefusals, testRefusals } from './refusals.ts';
import type { Send } from './service.ts';

serviceForRefusals();

const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const first = (task: object): Send => ({ body: { tasks: [{ payload: 1 }, task] } });
const taskWith = (options: string): Send => raw(`{"payload": 1, ${options}}`);

testRefusals('POST /v1/queues/q/tasks', [
  ['nothing at all', 400, 'body', {}],
  ['malformed JSON', 400, 'body', raw('{"payload": ')],
  ['JSON with a trailing comma', 400, 'body', raw('{"payload": 1,}')],
  ['bytes that are must be UTF-8', 400, 'body', raw(new Uint8Array([0x22, 0xff, 0x22]))],
  ['a list', 422, 'body', raw('[]')],
  ['null', 422, 'body', raw('null')],
  [
    'a form',
    415,
    'Content-Type',
    { raw: 'payload=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
  ],
  ['more than 5 MiB', 413, 'body', raw(`{"payload": "${'x'.repeat(5 * 1024 * 1024)}"}`)],
  ['a payload over 256 KiB', 422, 'payload', json({ payload: 'x'.repeat(262_144) })],
  ['one such payload of many', 422, 'tasks[1].payload', first({ payload: 'x'.repeat(262_144) })],
  ['10,001 tasks', 422, 'tasks', json({ tasks: Array(10_001).fill({}) })],
  ['a million tasks that are none', 422, 'tasks', json({ tasks: Array(1_000_000).fill(0) })],
  ['tasks that are no list', 422, 'tasks', json({ tasks: {} })],
  ['a task that is no object', 422, 'tasks[0]', json({ tasks: ['x'] })],
  ['a misspelt option', 422, 'prioritty', taskWith('"prioritty": 1')],
  ['a misspelt option in a batch', 422, 'tasks[1].prioritty', first({ prioritty: 1 })],
  ['an option beside tasks', 422, 'priority', json({ tasks: [], priority: 1 })],
  ['__proto__ as an option', 422, '__proto__', taskWith('"__proto__": {"priority": 1}')],
  ['a negative delay', 422, 'delay_seconds', taskWith('"delay_seconds": -1')],
  [
    'a delay of more than ten years',
    422,
    'tasks[1].delay_seconds',
    first({ delay_seconds: 3.2e8 }),
  ],
  ['a delay in a string', 422, 'delay_seconds', taskWith('"delay_seconds": "5"')],
  ['an infinite delay', 422, 'delay_seconds', taskWith('"delay_seconds": 1e400')],
  ['a time without a zone', 422, 'run_at', taskWith('"run_at": "2030-01-31T09:00:00"')],
  ['a day that is none', 422, 'run_at', taskWith('"run_at": "2030-02-30T09:00:00Z"')],
  ['an absurd zone', 422, 'run_at', taskWith('"run_at": "2030-01-01T00:00:00+99:99"')],
  ['a year before 1970', 422, 'run_at', taskWith('"run_at": "0001-01-01T00:00:00Z"')],
  ['a time in words', 422, 'run_at', taskWith('"run_at": "tomorrow"')],
  [
    'both delay and time',
    422,
    'delay_seconds',
    taskWith('"delay_seconds": 1, "run_at": "2030-01-31T09:00:00Z"'),
  ],
  ['priority 10', 422, 'tasks[1].priority', first({ priority: 10 })],
  ['priority 4.5', 422, 'priority', taskWith('"priority": 4.5')],
  [
    'a priority that a double would round',
    422,
    'priority',
    taskWith('"priority": 4.99999999999999999999'),
  ],
  ['an empty tenant', 422, 'tenant', taskWith('"tenant": ""')],
  ['a tenant of 201 characters', 422, 'tenant', json({ tenant: 'x'.repeat(201) })],
  ['no attempts', 422, 'max_attempts', taskWith('"max_attempts": 0')],
  ['NUL in a payload', 422, 'tasks[1].payload.a[2]', first({ payload: { a: [1, 2, 'x\0'] } })],
  ['NUL in a key', 422, 'payload.a', json({ payload: { a: { 'x\0': 1 } } })],
  ['half of a surrogate pair', 422, 'payload', raw('{"payload": "\\ud83d"}')],
  ['a number of 400 digits', 422, 'payload.n', raw('{"payload": {"n": 1e400}}')],
  ['a number of 131,000 digits', 422, 'payload[1]', raw('{"payload": [true, 1E+131000]}')],
  ['nesting of 600 levels', 422, 'payload[0][0][0][0][0][0][0]', raw(`{"payload": ${deep(600)}}`)],
  [
    'nesting of 2 million levels',
    422,
    'payload[0][0][0][0][0][0][0]',
    raw(`{"payload": ${deep(2_000_000)}}`),
  ],
  [
    'headers of 300,000 names',
    422,
    'headers',
    json({ headers: Object.fromEntries(Array.from({ length: 300_000 }, (_, n) => [`h${n}`, n])) }),
  ],
  ['an empty request id', 422, 'request_id', taskWith('"request_id": ""')],
  ['a request id of 201 characters', 422, 'request_id', json({ request_id: 'x'.repeat(201) })],
  [
    'a long Idempotency-Key',
    422,
    'Idempotency-Key',
    { body: {}, headers: { 'Idempotency-Key': 'x'.repeat(201) } },
  ],
  [
    'two request ids',
    422,
    'request_id',
    { body: { request_id: 'a' }, headers: { 'Idempotency-Key': 'b' } },
  ],
]);

testRefusals('POST /v1/queues/q/tasks?priority=1', [['a query string', 422, 'priority', json({})]]);
testRefusals('POST /v1/queues/a%20b/tasks', [['a queue that is no name', 422, 'queue', json({})]]);
testRefusals('POST /v1/queues/%00/tasks', [['NUL in the queue', 422, 'queue', json({})]]);
testRefusals('POST /v1/queues/%E0%A4%A/tasks', [['a broken escape', 422, 'queue', json({})]]);
testRefusals('POST /v1/queues/*/tasks', [['the default policy', 422, 'queue', json({})]]);

testRefusals('POST /v1/queues/q/claim', [
  ['limit 0', 422, 'limit', json({ limit: 0 })],
  ['limit 10,001', 422, 'limit', json({ limit: 10_001 })],
  ['limit null', 422, 'limit', json({ limit: null })],
  ['limit 1.5', 422, 'limit', json({ limit: 1.5 })],
  ['a lease of no time', 422, 'lease_seconds', json({ lease_seconds: 0 })],
  ['a lease over a day', 422, 'lease_seconds', json({ lease_seconds: 86_401 })],
  ['waiting 31 s', 422, 'wait_seconds', json({ wait_seconds: 31 })],
  ['waiting backwards', 422, 'wait_seconds', json({ wait_seconds: -1 })],
  ['a worker without a name', 422, 'worker', json({ worker: '' })],
  ['NUL in the worker', 422, 'worker', json({ worker: 'a\0' })],
  ['an unknown option', 422, 'wait', json({ wait: 1 })],
]);

testRefusals('POST /v1/leases/:lease/complete', [
  ['results that are no list', 422, 'results', json({ results: null })],
  ['no results in the list', 422, 'results', json({ results: [] })],
  ['an id in a number', 422, 'results[0].id', json({ results: [{ id: 1 }] })],
  ['an id that is no id', 422, 'results[0].id', json({ results: [{ id: 'abc' }] })],
  ['a negative id', 422, 'results[0].id', json({ results: [{ id: '-1' }] })],
  ['an id of 2^63', 422, 'results[0].id', json({ results: [{ id: '9223372036854775808' }] })],
  ['an id twice', 422, 'results[1].id', json({ results: [{ id: '1048577' }, { id: '1048577' }] })],
  ['no id', 422, 'results[0].id', json({ results: [{ result: 1 }] })],
  ['an unknown option', 422, 'results[0].error', json({ results: [{ id: '1', error: 1 }] })],
  [
    'a result over 256 KiB',
    422,
    'results[0].result',
    json({ results: [{ id: '1', result: 'x'.repeat(262_300) }] }),
  ],
  ['an option of fail', 422, 'failures', json({ failures: [] })],
]);

testRefusals('POST /v1/leases/:lease/fail', [
  ['an unknown option', 422, 'retry_in', json({ retry_in: 1 })],
  ['a negative retry', 422, 'retry_in_seconds', json({ retry_in_seconds: -1 })],
  [
    'a retry in a batch in a string',
    422,
    'failures[0].retry_in_seconds',
    json({ failures: [{ id: '1', retry_in_seconds: '1' }] }),
  ],
  ['fatal and a retry', 422, 'retry_in_seconds', json({ fatal: true, retry_in_seconds: 1 })],
  ['fatal that is no boolean', 422, 'fatal', json({ fatal: 'yes' })],
  ['an option beside failures', 422, 'fatal', json({ failures: [{ id: '1' }], fatal: true })],
]);

testRefusals('POST /v1/leases/:lease/release', [
  ['ids that are none', 422, 'ids[1]', json({ ids: ['1', 'x'] })],
  ['no ids in the list', 422, 'ids', json({ ids: [] })],
]);
testRefusals('POST /v1/leases/:lease/extend', [
  ['no time', 422, 'lease_seconds', json({ lease_seconds: 0 })],
  ['seconds', 422, 'seconds', json({ seconds: 5 })],
  ['a number for progress', 422, 'progress', json({ progress: 5 })],
  ['no progress at all', 422, 'progress', json({ progress: {} })],
  ['progress above 100', 422, 'progress.progress', json({ progress: { progress: 101 } })],
  ['a long note', 422, 'progress.note', json({ progress: { note: 'x'.repeat(501) } })],
  ['an id beside all', 422, 'progress.id', json({ progress: { id: '1', progress: 1 } })],
  ['progress of no id', 422, 'progress[0].id', json({ progress: [{ progress: 1 }] })],
  [
    'no progress of one',
    422,
    'progress[1]',
    json({ progress: [{ id: '1', note: '' }, { id: '2' }] }),
  ],
  ['a list of numbers', 422, 'progress[0]', json({ progress: [1] })],
  ['an empty list', 422, 'progress', json({ progress: [] })],
]);
testRefusals('POST /v1/leases/42/complete', [['a lease that is no UUID', 422, 'lease', json({})]]);

testRefusals('GET /v1/tasks/abc', [['an id that is none', 422, 'id', {}]]);
testRefusals('GET /v1/tasks/0', [['id 0', 422, 'id', {}]]);
testRefusals('GET /v1/tasks/9223372036854775808', [['an id of 2^63', 422, 'id', {}]]);
for (const text of ['', '31', '-1', '1.5', '1e1', 'soon', '%00', '1&wait_seconds=2']) {
  const route = `GET /v1/tasks/1?wait_seconds=${text}`;
  testRefusals(route, [['a wait that is none, or twice', 422, 'wait_seconds', {}]]);
}
testRefusals('GET /v1/tasks/1?wait=1', [['an unknown option', 422, 'wait', {}]]);
testRefusals('GET /v1/tasks/1?__proto__=1', [['a strange option', 422, '__proto__', {}]]);
testRefusals('GET /v1/queues?limit=1', [['a query string', 422, 'limit', {}]]);

testRefusals('PUT /v1/queues/q', [
  ['an unknown option', 422, 'lease', json({ lease: 5 })],
  ['a lease of 0 s', 422, 'lease_seconds', json({ lease_seconds: 0 })],
  ['paused that is no boolean', 422, 'paused', json({ paused: 1 })],
  ['65 lanes', 422, 'lanes', json({ lanes: 65 })],
  ['null', 422, 'lanes', json({ lanes: null })],
  ['59 s of retention', 422, 'retention_seconds', json({ retention_seconds: 59 })],
  ['retention over ten years', 422, 'retention_seconds', json({ retention_seconds: 315_360_001 })],
  ['half a second of retention', 422, 'retention_seconds', json({ retention_seconds: 3600.5 })],
  [
    'a pause after a restore that is no boolean',
    422,
    'pause_after_restore',
    json({ pause_after_restore: 'yes' }),
  ],
  ['what is internal', 422, 'home', json({ home: 1 })],
]);

testRefusals('POST /v1/keys', [
  ['nothing at all', 400, 'body', {}],
  ['no scopes', 422, 'scopes', json({ name: 'k', scopes: [] })],
  ['an unknown scope', 422, 'scopes[0]', json({ name: 'k', scopes: ['root'] })],
  ['no name', 422, 'name', json({ scopes: ['read'] })],
  ['no queues in the list', 422, 'queues', json({ name: 'k', scopes: ['read'], queues: [] })],
  [
    'a queue that is no name',
    422,
    'queues[0]',
    json({ name: 'k', scopes: ['read'], queues: ['*'] }),
  ],
]);
testRefusals('DELETE /v1/keys/tock', [['a prefix that is none', 422, 'prefix', {}]]);
testRefusals('POST /v1/tick', [['an option', 422, 'limit', json({ limit: 1 })]]);
