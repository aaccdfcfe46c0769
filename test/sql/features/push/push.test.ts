import type pg from 'pg';
import { expect, test } from 'vitest';
import { overlapping } from '../../kernel/sessions.ts';
import { client, databasePerFile } from '../../test_database.ts';
import { enqueue, refusal, rows, task, value } from '../../verbs.ts';

databasePerFile();

const url = 'https://example.com/hook';
const put = (queue: string, push: unknown) =>
  value(client, 'select (tock.put_queue(p_queue => $1, p_policy => $2)).push', [
    queue,
    JSON.stringify({ push }),
  ]);
const names = async () => {
  const queues = await rows<{ queue: string }>(client, 'select queue from tock.push_queues()');
  return queues.map(({ queue }) => queue).sort();
};

test('put_queue sets push on a queue, and null removes it', async () => {
  expect(await put('on', { url, timeout_seconds: 5 })).toEqual({ url, timeout_seconds: 5 });
  await client.query(`select tock.put_queue('on', '{"lease_seconds": 30}')`);
  expect(await value(client, `select push from tock.queue('on')`)).toMatchObject({ url });
  expect(await put('on', null)).toBeNull();
});

test.each([
  [true, 'push'],
  [[], 'push'],
  [{ to: url }, 'push.to'],
  [{ url: 1 }, 'push.url'],
  [{ url: 'ftp://example.com/' }, 'push.url'],
  [{ url: 'https://' }, 'push.url'],
  [{ url: 'https://:443/' }, 'push.url'],
  [{ url: 'https://example.com:a/' }, 'push.url'],
  [{ url: 'https://[]/' }, 'push.url'],
  [{ url: 'https://u:p@example.com/' }, 'push.url'],
  [{ url: 'https://example.com/#a' }, 'push.url'],
  [{ url: 'https://example.com\\@evil/' }, 'push.url'],
  [{ url: 'https://exa mple.com/' }, 'push.url'],
  [{ url: `https://example.com/\u0001` }, 'push.url'],
  [{ url: `${url}/${'a'.repeat(2000)}` }, 'push.url'],
  [{ timeout_seconds: 0 }, 'push.timeout_seconds'],
  [{ timeout_seconds: 301 }, 'push.timeout_seconds'],
  [{ timeout_seconds: 1.5 }, 'push.timeout_seconds'],
  [{ timeout_seconds: '5' }, 'push.timeout_seconds'],
])('push %j is refused', async (push, field) => {
  const { code, detail } = await refusal(put('refused', push));
  expect([code, detail]).toEqual(['TK422', field]);
});

test('the host of a push URL may be a name or an address, with a port', async () => {
  for (const host of ['example.com', 'bücher.example:8443', '8.8.8.8', '[2606:4700::1111]:443']) {
    const own = { url: `https://${host}/a?b` };
    expect(await put('hosts', own)).toEqual(own);
  }
});

test('the default policy cannot have push, because each new queue would inherit it', async () => {
  expect((await refusal(put('*', {}))).detail).toBe('push');
});

test('a task without a URL to push to is refused, alone, plain or among others', async () => {
  // With an existing stream, a single plain task takes the shortest code path.
  await enqueue(client, 'open', [{}]);
  await put('open', {});
  await put('fixed', { url });
  expect(await put('nowhere', { url: null, timeout_seconds: 5 })).toEqual({ timeout_seconds: 5 });
  const refused: [queue: string, tasks: object[], at?: number][] = [
    ['open', [{}]],
    ['open', [{ payload: 1 }]],
    ['open', [{ payload: 1, priority: 2 }]],
    ['open', [{ unique_key: 'a', on_conflict: 'replace' }]],
    ['open', [{ push_url: url }, { push_url: null }], 1],
    ['nowhere', [{}]],
    ['nowhere', [{}, {}]],
    ['none', [{ push_url: url }]],
    ['fixed', [{ push_url: 'http://a@b/' }]],
  ];
  for (const [queue, tasks, at = 0] of refused) {
    const { code, detail } = await refusal(enqueue(client, queue, tasks));
    expect([code, detail]).toEqual(['TK422', `tasks[${at}].push_url`]);
  }
  const [own] = await enqueue(client, 'open', [{ push_url: url }]);
  expect((await task(client, own as string))?.options).toEqual({ push_url: url });
  expect(await enqueue(client, 'fixed', [{}, { push_url: url }])).toHaveLength(2);
});

test('push_queues lists queues with push that may have ready tasks and are not paused', async () => {
  for (const queue of ['idle', 'ready', 'later', 'paused']) await put(queue, { url });
  await enqueue(client, 'ready', [{}]);
  await enqueue(client, 'later', [{ delay_seconds: 60 }]);
  await enqueue(client, 'paused', [{}]);
  await client.query(`select tock.put_queue('paused', '{"paused": true}')`);
  // A stream without unclaimed runs may still be awake.
  await enqueue(client, 'idle', [{}]);
  await client.query(`select tock.complete(lease) from tock.claim('idle')`);
  const queues = await names();
  expect(queues).toContain('ready');
  for (const queue of ['idle', 'later', 'paused']) expect(queues).not.toContain(queue);
  await client.query(
    `update tock.waiting set due_at = now() - interval '1 second' where queue = 'later'`,
  );
  expect(await names()).toContain('later');
});

test('push_queues finds the one queue with a ready task among thousands, each time', async () => {
  await client.query('begin');
  await client.query(
    `insert into tock.queues (name, push) select 'idle-' || g, '{}' from generate_series(1, 4000) g`,
  );
  await client.query(`update tock.queues set push = '{"url": "${url}"}' where name = 'idle-7'`);
  await enqueue(client, 'idle-7', [{}]);
  for (let look = 0; look < 5; look++) expect(await names()).toContain('idle-7');
  await client.query('rollback');
});

test('a secret is rotated with an overlap, and cannot be rotated again during it', async () => {
  await put('turned', { url });
  const rotation = 'select * from tock.rotate_push_secret($1, $2)';
  const rotate = async (seconds = 86400) => (await rows(client, rotation, ['turned', seconds]))[0];
  const first = await rotate();
  expect(first).toMatchObject({ generation: 2, previous_until: expect.any(Date) });
  expect(await rotate()).toEqual(first);
  expect(await rotate(0)).toEqual({ queue: 'turned', generation: 3, previous_until: null });
  await rotate(60);
  await client.query(`update tock.queues set push_previous_until = now() where name = 'turned'`);
  const secret = { queue: 'turned', generation: 4, previous_until: null };
  expect(await rows(client, `select * from tock.push_secret('turned')`)).toEqual([secret]);
  expect(await rotate()).toMatchObject({ generation: 5 });
  expect(await rows(client, `select * from tock.rotate_push_secret('unknown')`)).toEqual([]);
  const wrong = client.query(`select tock.rotate_push_secret('turned', -1)`);
  expect((await refusal(wrong)).detail).toBe('overlap_seconds');
});

test('two concurrent rotations raise the generation once', async () => {
  await put('both', { url });
  const call = (on: pg.Client) =>
    value(on, "select generation from tock.rotate_push_secret('both')");
  expect(await overlapping(call, call)).toEqual([2, 2]);
});

test('doctor() names queues whose tasks are not pushed, and endpoints that are gone', async () => {
  await put('alone', { url });
  await enqueue(client, 'alone', [{}, {}]);
  const findings = async () =>
    (await rows<{ finding: string; detail: string }>(client, 'select * from tock.doctor()'))
      .filter(({ finding }) => ['tasks are not pushed', 'endpoints are gone'].includes(finding))
      .map(({ finding, detail }) => `${finding}: ${detail}`);
  expect(await findings()).toEqual([]);
  await client.query(
    `update tock.runs r set created_at = now() - interval '6 minutes' from tock.streams s
     where s.number = r.stream and s.queue = 'alone'`,
  );
  expect(await findings()).toEqual([
    expect.stringMatching(/^tasks are not pushed: alone \(2 ready, the oldest since 20/),
  ]);
  const [taken] = await rows<{ lease: string }>(client, "select lease from tock.claim('alone')");
  await client.query('select tock.complete($1)', [taken?.lease]);
  // A successful claim was just made, so the old backlog is being worked on.
  expect(await findings()).toEqual([]);
  await client.query(
    `select tock.fail(p_lease => lease, p_failures =>
       '{"fatal": true, "error": {"name": "Gone", "message": "410 from https://example.com"}}')
     from tock.claim('alone')`,
  );
  expect(await findings()).toEqual([
    expect.stringMatching(/^endpoints are gone: alone \(1 task, the newest \d+\)/),
  ]);
});
