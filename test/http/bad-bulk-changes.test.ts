import { json, serviceForRefusals, testRefusals } from './refusals.ts';

serviceForRefusals();

const get = (path: string, what: string, field: string) =>
  testRefusals(`GET ${path}`, [[what, 422, field, {}]]);

get('/v1/tasks?queue=*', 'the default policy', 'queue');
get('/v1/tasks?queue=q&state=lost', 'an unknown state', 'state');
get('/v1/tasks?queue=q&tenant=', 'a tenant without a name', 'tenant');
get('/v1/tasks?queue=q&tenant=%00', 'NUL', 'tenant');
get('/v1/tasks?queue=q&rerun=yes', 'rerun that is neither', 'rerun');
get('/v1/tasks?queue=q&limit=0', 'limit 0', 'limit');
get('/v1/tasks?queue=q&limit=1001', 'limit 1001', 'limit');
get('/v1/tasks?queue=q&limit=1e2', 'a limit in another way', 'limit');
get('/v1/tasks?queue=q&cursor=x', 'a cursor that is none', 'cursor');
get('/v1/tasks?queue=q&cursor=5b5dx', 'a cursor of another kind', 'cursor');
get('/v1/tasks?queue=q&state=done&error=e', 'an error of done ones', 'error');
get('/v1/tasks?queue=q&queue=r', 'an option twice', 'queue');
get('/v1/tasks?queue=q&page=2', 'an unknown option', 'page');
get('/v1/queues/q/dead?limit=-1', 'a negative limit', 'limit');
get('/v1/queues/*/dead', 'the default policy', 'queue');

testRefusals('POST /v1/tasks/:task/rerun', [
  ['a waiting task', 409, 'id', json({})],
  ['an unknown option', 422, 'priority', json({ priority: 1 })],
  ['an empty reason', 422, 'reason', json({ reason: '' })],
  [
    'two request ids',
    422,
    'request_id',
    { body: { request_id: 'a' }, headers: { 'Idempotency-Key': 'b' } },
  ],
]);
testRefusals('POST /v1/tasks/rerun', [
  ['nothing at all', 400, 'body', {}],
  ['no ids', 422, 'ids', json({ ids: [] })],
  ['an id in a number', 422, 'ids[0]', json({ ids: [1] })],
]);
testRefusals('POST /v1/tasks/move', [
  ['no queue', 422, 'queue', json({ ids: ['1048577'] })],
  ['the default policy', 422, 'queue', json({ ids: ['1048577'], queue: '*' })],
]);
testRefusals('POST /v1/tasks/reprioritize', [
  ['no ids', 422, 'ids', json({ priority: 1 })],
  ['no priority', 422, 'priority', json({ ids: ['1048577'] })],
  ['priority 10', 422, 'priority', json({ ids: ['1048577'], priority: 10 })],
]);
testRefusals('POST /v1/queues/q/redrive', [
  ['limit 10,001', 422, 'limit', json({ limit: 10_001 })],
  ['a queue that is no name', 422, 'to_queue', json({ to_queue: 'a b' })],
  ['again that is neither', 422, 'again', json({ again: 'yes' })],
  ['an unknown option', 422, 'queue', json({ queue: 'q' })],
]);
testRefusals('POST /v1/queues/q/cancel', [
  ['a state that has ended', 422, 'state', json({ state: 'dead' })],
]);
testRefusals('POST /v1/queues/q/reprioritize', [
  ['no priority', 422, 'priority', json({ state: 'ready' })],
  ['priority 10', 422, 'priority', json({ priority: 10 })],
]);
testRefusals('POST /v1/queues/q/bulk-changes', [
  ['no change', 422, 'change', json({})],
  ['another change', 422, 'change', json({ change: 'purge' })],
  ['a state that has ended', 422, 'state', json({ change: 'cancel', state: 'dead' })],
  ['a state of dead ones', 422, 'state', json({ change: 'redrive', state: 'ready' })],
  ['an error of unfinished ones', 422, 'error', json({ change: 'cancel', error: 'e' })],
  ['no priority', 422, 'priority', json({ change: 'reprioritize' })],
  ['a priority for a cancel', 422, 'priority', json({ change: 'cancel', priority: 1 })],
  ['a limit', 422, 'limit', json({ change: 'cancel', limit: 1 })],
  [
    'the queue of webhooks',
    422,
    'to_queue',
    json({ change: 'redrive', to_queue: 'tock-webhooks' }),
  ],
]);
testRefusals('POST /v1/queues/q/purge', [
  ['a state that runs', 422, 'state', json({ state: 'running' })],
]);
testRefusals('DELETE /v1/queues/*', [['the default policy', 422, 'queue', {}]]);
testRefusals('DELETE /v1/queues/q', [['a queue that is not paused', 409, 'queue', {}]]);
testRefusals('DELETE /v1/queues/q?force=1', [['force that is neither', 422, 'force', {}]]);
