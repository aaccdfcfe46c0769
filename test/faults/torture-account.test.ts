import { beforeAll, beforeEach, expect, test } from 'vitest';
import { account } from '../../scripts/torture/account.ts';
import { type Ledger, openLedger } from '../../scripts/torture/ledger.ts';
import { lookAtGates } from '../../scripts/torture/observer.ts';
import { client, oneDatabase } from '../sql/own.ts';
import { claim, complete, enqueue, leaseOf, promote } from '../sql/support.ts';

oneDatabase();

// That the torture's account finds what a bug would leave behind: each case is one, made by hand.
let kinds: Set<string>;
let ledger: Ledger;
let ids: string[];

const numbered = (...numbers: number[]) => numbers.map((n) => ({ payload: { n } }));

/** Claims what there is and completes it, and tells the ledger so. */
async function work(queue: string): Promise<void> {
  const runs = await claim(client, queue, { limit: 10 });
  const given = runs.map(({ id, run_id, payload }) => ({
    id,
    run_id,
    n: (payload as { n: number }).n,
  }));
  ledger.claimed(1, queue, given);
  for (const { n } of given) ledger.asked.done.add(n);
  const results = runs.map(({ id }) => ({ id, result: { by: 'me' } }));
  await complete(client, leaseOf(runs), results);
  for (const run of given) ledger.done(2, queue, run, 'me');
}

beforeAll(() => client.query("select tock.put_queue('gated')"));

beforeEach(async () => {
  await client.query('rollback; begin');
  kinds = new Set();
  ledger = openLedger(({ kind }) => kinds.add(kind));
  const numbers = ledger.take(3);
  ids = await enqueue(client, 'plain', numbered(...numbers));
  ledger.accepted(ids, numbers);
  await work('plain');
});

test('nothing is found where nothing is wrong', async () => {
  await account({ ledger }, client);
  expect([...kinds]).toEqual([]);
});

const first = () => ids[0] as string;
const run = (id: string, run_id = id) => ({ id, run_id, n: 1 });
const cases: [string, () => unknown][] = [
  ['lost', () => client.query("delete from tock.runs where payload ->> 'n' = '1'")],
  ['doubled', () => enqueue(client, 'plain', numbered(1))],
  ['nobody enqueued it', () => enqueue(client, 'plain', numbered(99))],
  ['another payload', () => client.query('update tock.runs set payload = $1', [{ n: 2 }])],
  ['finished twice', () => ledger.done(3, 'plain', run(first(), '77'), 'you')],
  ['handed out after its completion', () => ledger.claimed(3, 'plain', [run(first())])],
  ['a completion was undone', () => client.query("update tock.results set state = 'failed'")],
  ['another result', () => client.query(`update tock.results set result = '{"by": "you"}'`)],
  ['an end that nobody asked for', () => ledger.asked.done.clear()],
  [
    'leases are open',
    () => client.query('update tock.leases set closed_at = null, outcome = null'),
  ],
  ['one id for two tasks', () => ledger.accepted([first()], [7])],
  [
    'half of a call',
    async () => {
      ledger.unsure([4, 5]);
      await enqueue(client, 'plain', numbered(4));
    },
  ],
  [
    'handed out after it was cancelled',
    async () => {
      const [id] = await enqueue(client, 'plain', numbered(4));
      ledger.accepted([id as string], [4]);
      ledger.cancelled(3, id as string);
      ledger.claimed(4, 'plain', [{ id: id as string, run_id: id as string, n: 4 }]);
    },
  ],
];

test.each(cases)('it finds: %s', async (kind, broken) => {
  await broken();
  await account({ ledger }, client);
  expect([...kinds]).toContain(kind);
});

test('it finds: a gate is overshot', async () => {
  await client.query('rollback');
  await client.query(`select tock.put_gate('gated', 'one', '{"gate_limit": 2}')`);
  const two = numbered(8, 9).map((task) => ({ ...task, gate: 'one' }));
  await enqueue(client, 'gated', two);
  await promote(client);
  while ((await claim(client, 'gated', { limit: 10 })).length > 0);
  await lookAtGates(ledger, client);
  expect([...kinds]).toEqual(['a gate is overshot']);
});
