import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import { claim, enqueue, refusal, rows, task, value } from '../../verbs.ts';

databasePerFile();

const enqueuePayloads = (queue: string, payloads: string, requestId: string | null = null) =>
  value<string[]>(client, 'select tock.enqueue_payloads($1, $2, $3)', [queue, payloads, requestId]);

async function texts(queue: string) {
  const all: { id: string; text: string | null }[] = [];
  const claimed = 'select id, payload::text as text from tock.claim($1, p_limit => 10000)';
  for (;;) {
    const some = await rows<(typeof all)[0]>(client, claimed, [queue]);
    all.push(...some);
    if (some.length === 0) return all.sort((one, other) => Number(one.id) - Number(other.id));
  }
}

test('the text of each payload is stored as given, in order', async () => {
  const odd = ['{"b": 1.0,"a":  [1E2, -0]}', '{"a":1,"a":2}'];
  const payloads = [...odd, '"ß \\u00e9"', '12345678901234567890'];
  const ids = await enqueuePayloads('exact', `[${payloads.join(' , ')}]`);
  expect(await texts('exact')).toEqual(ids.map((id, n) => ({ id, text: payloads[n] })));
});

test('null is no payload, and an empty call creates no task', async () => {
  expect(await enqueuePayloads('empty', '[]')).toEqual([]);
  await enqueuePayloads('empty', '[null, {"payload": null}]');
  expect((await texts('empty')).map(({ text }) => text)).toEqual([null, '{"payload": null}']);
});

test('a repeated call returns the same ids; another text is another call', async () => {
  const ids = await enqueuePayloads('again', '[1, 2]', 'r');
  expect(await enqueuePayloads('again', '[1, 2]', 'r')).toEqual(ids);
  const others = [
    () => enqueuePayloads('again', '[1,2]', 'r'),
    () => enqueue(client, 'again', [{ payload: 1 }], 'r'),
  ];
  for (const call of others) expect(await refusal(call())).toMatchObject({ code: 'TK422' });
  expect(await claim(client, 'again', { limit: 10 })).toHaveLength(2);
});

test('the defaults of the queue apply', async () => {
  await client.query(`select tock.put_queue('defaults', '{"timeout_seconds": 77}')`);
  const [id = ''] = await enqueuePayloads('defaults', '[{"b":1.0,"a":[]}]');
  expect(await task(client, id)).toMatchObject({ options: { timeout_seconds: 77 } });
  expect(await texts('defaults')).toEqual([{ id, text: '{"b":1.0,"a":[]}' }]);
});

test.each([
  ['an object', '{"a": 1}', 'TK422', 'payloads'],
  ['null', 'null', 'TK422', 'payloads'],
  ['too many', JSON.stringify(new Array(100_001).fill(1)), 'TK422', 'payloads'],
  ['a large one', JSON.stringify([1, 'x'.repeat(262_143)]), 'TK422', 'payloads[1]'],
  ['two of them', JSON.stringify(Array(2).fill('x'.repeat(262_143))), 'TK422', 'payloads[0]'],
  ['a NUL', '[1, "\\u0000"]', '22P05', undefined],
  ['half a surrogate pair', '["\\ud800"]', '22P02', undefined],
  ['a number beyond numeric', '[1e200000]', '22003', undefined],
  ['a number near zero', '[1e-20000]', '22003', undefined],
  ['a long fraction', `[0.${'1'.repeat(20_000)}]`, '22003', undefined],
  ['a long number', `[${'1'.repeat(140_000)}]`, '22003', undefined],
])('refused, and nothing is added: %s', async (_, payloads, code, detail) => {
  const refused = await refusal(enqueuePayloads('refused', payloads));
  expect(refused).toMatchObject(detail ? { code, detail } : { code });
  expect(await claim(client, 'refused')).toEqual([]);
});

test('a queue that Tock fills itself is refused', async () => {
  expect(await refusal(enqueuePayloads('tock-webhooks', '[1]'))).toMatchObject({
    code: 'TK422',
    detail: 'queue',
  });
});
