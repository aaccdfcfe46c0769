import { json, raw, serviceForRefusals, testRefusals } from './refusals.ts';

serviceForRefusals();

testRefusals('PATCH /v1/tasks/:task', [
  ['nothing at all', 400, 'body', {}],
  ['no changes', 422, 'body', json({})],
  ['a list', 422, 'body', raw('[]')],
  ['priority 10', 422, 'priority', json({ priority: 10 })],
  ['priority null', 422, 'priority', json({ priority: null })],
  ['priority 4.5', 422, 'priority', json({ priority: 4.5 })],
  ['a negative delay', 422, 'delay_seconds', json({ delay_seconds: -1 })],
  ['a delay of more than ten years', 422, 'delay_seconds', json({ delay_seconds: 3.2e8 })],
  ['a time without a zone', 422, 'run_at', json({ run_at: '2030-01-31T09:00:00' })],
  ['a year before 1970', 422, 'run_at', json({ run_at: '0001-01-01T00:00:00Z' })],
  [
    'both delay and time',
    422,
    'delay_seconds',
    json({ delay_seconds: 1, run_at: '2030-01-31T09:00:00Z' }),
  ],
  ['a payload over 256 KiB', 422, 'payload', json({ payload: 'x'.repeat(262_144) })],
  ['NUL in the payload', 422, 'payload.a[1]', json({ payload: { a: [1, 'x\0'] } })],
  ['a number of 400 digits', 422, 'payload', raw('{"payload": 1e400}')],
  ['an option of enqueue', 422, 'tenant', json({ priority: 1, tenant: 'a' })],
  ['the id', 422, 'id', json({ id: '1' })],
]);
testRefusals('PATCH /v1/tasks/abc', [['an id that is none', 422, 'id', json({ priority: 1 })]]);

testRefusals('POST /v1/tasks/:task/cancel', [['an option', 422, 'reason', json({ reason: 'x' })]]);
testRefusals('POST /v1/tasks/0/cancel', [['id 0', 422, 'id', json({})]]);
testRefusals('POST /v1/tasks/cancel', [
  ['nothing at all', 400, 'body', {}],
  ['no ids', 422, 'ids', json({})],
  ['no ids in the list', 422, 'ids', json({ ids: [] })],
  ['10,001 ids', 422, 'ids', json({ ids: Array(10_001).fill('1') })],
  ['an id that is none', 422, 'ids[1]', json({ ids: ['1048577', 'x'] })],
  ['an id in a number', 422, 'ids[0]', json({ ids: [1048577] })],
  ['an id of 2^63', 422, 'ids[0]', json({ ids: ['9223372036854775808'] })],
  ['an unknown option', 422, 'queue', json({ ids: ['1048577'], queue: 'q' })],
]);
testRefusals('DELETE /v1/tasks/abc/payload', [['an id that is none', 422, 'id', {}]]);
testRefusals('DELETE /v1/tasks/:task/payload?force=1', [['a query string', 422, 'force', {}]]);
testRefusals('GET /v1/doctor?all=1', [['a query string', 422, 'all', {}]]);
