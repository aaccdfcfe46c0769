import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();

test("every request is one statement with the key's check and the work", async () => {
  const statements = async (route: string, body?: unknown) => {
    const from = tock.statements.length;
    const { status, ...reply } = await tock.send(route, { body });
    expect(status, route).toBeLessThan(300);
    const sent = tock.statements.slice(from);
    expect(sent, route).toHaveLength(1);
    expect(sent[0]?.text, route).not.toContain(';');
    return { sent: sent[0]?.text ?? '', ...reply };
  };
  const tasks = [{}, {}, {}, {}, {}, { delay_seconds: 60 }];
  const enqueued = await statements('POST /v1/queues/one/tasks', { tasks, request_id: 'r' });
  const lease = async () => {
    const { sent, body } = await statements('POST /v1/queues/one/claim', {});
    expect(sent).toMatch(/^select tock\.http_claim\(p_key => \$1,/);
    return body.lease;
  };
  const several = await statements('POST /v1/claim', { queues: ['one', 'two'] });
  expect(several.sent).toMatch(
    /\nwhere \(select bool_and\(tock\.authorize\(p_key => \$1, [^()]*\)\)\n/,
  );
  const id = enqueued.body.ids[0];
  const waiting = enqueued.body.ids[5];
  const made = await statements('POST /v1/keys', { name: 'k', scopes: ['read'] });
  const rest = [
    await statements(`POST /v1/leases/${await lease()}/complete`, {}),
    await statements(`POST /v1/leases/${await lease()}/fail`, {}),
    await statements(`POST /v1/leases/${await lease()}/release`, {}),
    await statements(`POST /v1/leases/${await lease()}/extend`, {}),
    await statements(`GET /v1/tasks/${id}`),
    await statements(`PATCH /v1/tasks/${waiting}`, { priority: 1, payload: 2 }),
    await statements(`POST /v1/tasks/${waiting}/cancel`, {}),
    await statements('POST /v1/tasks/cancel', { ids: enqueued.body.ids }),
    await statements(`DELETE /v1/tasks/${waiting}/payload`),
    await statements('POST /v1/tasks/rerun', { ids: [waiting], request_id: 'again' }),
    await statements('POST /v1/tasks/move', { ids: [waiting], queue: 'two' }),
    await statements('POST /v1/tasks/reprioritize', { ids: [waiting], priority: 3 }),
    await statements('POST /v1/queues/one/redrive', {}),
    await statements('POST /v1/queues/one/reprioritize', { priority: 3 }),
    await statements('POST /v1/queues/one/cancel', {}),
    await statements('POST /v1/queues/one/purge', {}),
    await statements('DELETE /v1/queues/one?force=true'),
    await statements('PUT /v1/queues/one', {}),
    await statements('PUT /v1/queues/one', { rate_limit: 5 }),
    await statements('PUT /v1/pools/p/workers/w', {}),
    await statements('POST /v1/pools/p/assign', { task: 't' }),
    await statements('POST /v1/pools/p/assign-all', { tasks: ['s'] }),
    await statements('POST /v1/pools/p/unassign', { task: 't' }),
    await statements('POST /v1/pools/p/tasks', { tasks: ['u'] }),
    await statements('POST /v1/pools/p/take', { worker: 'w' }),
    await statements('PUT /v1/schedules/s', { queue: 'one', cron: '@daily' }),
    await statements('POST /v1/schedules/s/pause'),
    await statements('POST /v1/schedules/s/resume'),
    await statements('POST /v1/schedules/s/run', {}),
    await statements('POST /v1/queues/one/limits/reset'),
    await statements('POST /v1/tick', {}),
  ];
  const reads = `/metrics /v1/tasks?queue=one&state=dead /v1/queues/one /v1/queues/one/dead /v1/queues/one/ended /v1/doctor
    /v1/queues/one/series /v1/queues/one/limits /v1/series /v1/overview /v1/queues /v1/stats /v1/limits
    /v1/keys /v1/pools /v1/pools/p /v1/schedules /v1/schedules/s /v1/schedules/s/fires
    /v1/schedules/s/next /v1/next-fires?cron=@daily`;
  for (const path of reads.split(/\s+/)) rest.push(await statements(`GET ${path}`));
  for (const path of ['schedules/s', 'pools/p/workers/w', `keys/${made.body.prefix}`])
    rest.push(await statements(`DELETE /v1/${path}`));
  for (const { sent } of [enqueued, made, ...rest]) {
    // These functions check the key themselves, before anything else.
    if (/^select tock\.http_(enqueue|complete)\(p_key => \$1, [^()]*\) as body$/.test(sent))
      continue;
    expect(sent).toContain('tock.authorize(p_key => $1');
    // Without this text PostgreSQL may run the verb before the check.
    expect(sent).toContain('where key.allowed offset 0');
  }
  const health = await statements('GET /v1/health');
  expect(health.sent).toBe('select 1 as one');
});

test('for a body over 8 KiB the key is checked before it is read, and again with the work', async () => {
  const from = tock.statements.length;
  const body = { payload: 'x'.repeat(9000) };
  const key = await tock.makeKey(['enqueue']);
  const enqueue = () => tock.send('POST /v1/queues/large/tasks', { body, key });
  expect((await enqueue()).status).toBe(201);
  expect((await enqueue()).status).toBe(201);
  const sent = tock.statements.slice(from).map(({ text }) => text);
  expect(sent).toEqual([
    'select tock.known_key(p_key => $1) as known',
    expect.stringContaining('tock.http_enqueue(p_key => $1'),
    expect.stringContaining('tock.http_enqueue(p_key => $1'),
  ]);
  await tock.owner.query('select tock.revoke_key($1)', [key.slice(0, 13)]);
  expect((await enqueue()).status).toBe(401);
  const unknown = await tock.send('POST /v1/queues/large/tasks', { body, key: 'tock_unheard_of' });
  expect(unknown).toMatchObject({ status: 401, body: { detail: 'this key is unknown' } });
  expect(tock.statements.at(-1)?.text).toContain('known_key');
});

test('the key is checked before the verb does anything', async () => {
  const key = await tock.makeKey(['read']);
  const position = 'select last_value, is_called from tock.positions';
  const { rows: before } = await tock.owner.query(position);
  const refused = await tock.send('POST /v1/queues/unheard/tasks', { key, body: { payload: 1 } });
  expect(refused.status).toBe(403);
  // An enqueue advances this sequence, and a rollback does not undo that. So the verb has not run at all.
  const { rows: after } = await tock.owner.query(position);
  expect(after).toEqual(before);
  expect((await tock.send('GET /v1/queues/unheard')).status).toBe(404);

  const [id] = await tock.add('judged');
  for (const [route, request] of [
    ['POST /v1/queues/judged/claim', {}],
    [`PATCH /v1/tasks/${id}`, { payload: 1 }],
    [`POST /v1/tasks/${id}/cancel`, {}],
    ['POST /v1/tasks/cancel', { ids: [id] }],
  ] as const) {
    expect(await tock.send(route, { key, body: request }), route).toMatchObject({ status: 403 });
  }
  const unchanged = { state: 'ready', payload: null, runs: [{ state: 'ready' }] };
  expect(await tock.task(id)).toMatchObject(unchanged);
});
