import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import { enqueue, refusal, rows, task } from '../../verbs.ts';
import { change } from './changes.ts';

databasePerFile();

let count = 0;

const queue = () => `r${++count}`;
const addTask = async (q: string) =>
  (await enqueue(client, q, [{ payload: 'as sent' }]))[0] as string;

test.each<[changes: unknown, field: string]>([
  [null, 'changes'],
  [{}, 'changes'],
  [[{ priority: 1 }], 'changes'],
  [{ priority: 10 }, 'priority'],
  [{ priority: 1.5 }, 'priority'],
  [{ priority: '1' }, 'priority'],
  [{ priority: null }, 'priority'],
  [{ run_at: 'infinity' }, 'run_at'],
  [{ run_at: '2030-01-01T00:00:00' }, 'run_at'],
  [{ delay_seconds: -1 }, 'delay_seconds'],
  [{ delay_seconds: 1e12 }, 'delay_seconds'],
  [{ delay_seconds: 1, run_at: '2030-01-01T00:00:00Z' }, 'delay_seconds'],
  [{ tenant: 'other' }, 'tenant'],
  [{ bytes: 1 }, 'bytes'],
  [{ payload: 'x'.repeat(300_000) }, 'payload'],
])('changes like %j are refused, and the field is named', async (changes, field) => {
  const id = await addTask(queue());
  const refused = await refusal(change(client, [id], changes));
  expect(refused).toMatchObject({ code: 'TK422', detail: field });
  expect(await task(client, id)).toMatchObject({ state: 'ready', payload: 'as sent', priority: 5 });
});

test('a payload too large for one of the queues leaves the tasks of all queues unchanged', async () => {
  const [wide, narrow] = [queue(), queue()];
  await client.query(`select tock.put_queue($1, '{"max_payload_bytes": 1024}')`, [narrow]);
  const ids = [await addTask(wide), await addTask(narrow)];
  const refused = await refusal(change(client, ids, { payload: 'x'.repeat(2000) }));
  expect(refused).toMatchObject({ code: 'TK422', detail: 'payload' });
  for (const id of ids) expect((await task(client, id))?.payload).toBe('as sent');
});

test.each([
  ['reprioritize', 'p_ids => $1, p_priority => $2', null, 'priority'],
  ['reprioritize', 'p_ids => $1, p_priority => $2', 11, 'priority'],
  ['reschedule', 'p_ids => $1, p_run_at => $2', null, 'run_at'],
  ['reschedule', 'p_ids => $1, p_run_at => $2', 'infinity', 'run_at'],
])('%s (%s) is refused with %s, and names the field', async (verb, named, value, field) => {
  const id = await addTask(queue());
  const call = rows(client, `select * from tock.${verb}(${named})`, [[id], value]);
  expect(await refusal(call)).toMatchObject({ code: 'TK422', detail: field });
});

test('numbers are accepted in every JSON notation, and stay exact in a payload', async () => {
  const q = queue();
  const id = await addTask(q);
  const payload = '123456789012345678901234567890.5';
  const raw = `{"priority": 3.0, "payload": ${payload}, "delay_seconds": 0e3}`;
  await client.query('select tock.change(p_ids => $1, p_changes => $2)', [[id], raw]);
  const claimed = 'select payload::text, priority from tock.claim(p_queue => $1)';
  expect(await rows(client, claimed, [q])).toEqual([{ payload, priority: 3 }]);
});
