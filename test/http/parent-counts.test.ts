import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();

const list = async (query: string, key = tock.key) =>
  (await tock.send(`GET /v1/tasks?${query}`, { key })).body.tasks;

/** Adds tasks and one that depends on them; returns all ids. */
const group = (queue: string, parts: object[], callback: object = {}) =>
  tock.add(queue, ...parts, { depends_on: ['*'], on_parent_failure: 'wait', ...callback });

test('a key sees the states of parents that it may read, and no sign of the others', async () => {
  const { rows } = await tock.owner.query(
    "select key from tock.create_key('t', '{enqueue,read}', p_tenants => '{acme}')",
  );
  const [foreign] = await tock.add('secret', { tenant: 'evil' });
  const acme = { tenant: 'acme' };
  const ids = await group('mine', [acme, acme], { ...acme, depends_on: ['*', foreign] });
  const expected = [{ id: ids[2], parents: 2, parent_counts: { ready: 2 } }];
  expect(await list('waiting_for=dependency', rows[0].key)).toMatchObject(expected);
  const ofQueue = await tock.makeKey(['read'], ['mine']);
  expect(await list('waiting_for=dependency&queue=mine', ofQueue)).toMatchObject(expected);
  expect(await list('waiting_for=dependency&queue=mine')).toMatchObject([
    { parents: 3, parent_counts: { ready: 3 } },
  ]);
});
