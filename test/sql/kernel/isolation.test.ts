import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../database.ts';
import { expectInvariants } from '../invariants.ts';
import { claim, complete, enqueue, extend, fail, leaseOf, refusal, release } from '../verbs.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

const refused = {
  claim: "select * from tock.claim('q')",
  claim_any: "select * from tock.claim_any(array['q'])",
  claim_for_worker: "select * from tock.claim_for_worker('q', 'w')",
  cancel: 'select * from tock.cancel(array[1::bigint])',
  change: `select * from tock.change(array[1::bigint], '{"priority": 1}')`,
  reprioritize: 'select * from tock.reprioritize(array[1::bigint], 1)',
  reschedule: 'select * from tock.reschedule(array[1::bigint], now())',
  move: "select * from tock.move(array[1::bigint], 'other')",
  cancel_where: "select * from tock.cancel_where('q')",
  reprioritize_where: "select * from tock.reprioritize_where('q', '{}', 1)",
  rerun: 'select * from tock.rerun(array[1::bigint])',
  redrive: "select * from tock.redrive('q')",
  erase: 'select tock.erase(1)',
  purge_queue: "select * from tock.purge_queue('q')",
  drop_queue: "select * from tock.drop_queue('q', true)",
};

type Verb = [string, (on: pg.Client, lease: string) => Promise<unknown>];
const works: Verb[] = [
  ['enqueue', (on) => enqueue(on, 'other', [{ payload: 1 }])],
  ['complete', (on, lease) => complete(on, lease)],
  ['fail', (on, lease) => fail(on, lease)],
  ['release', (on, lease) => release(on, lease)],
  ['extend', (on, lease) => extend(on, lease)],
];

describe.each(['repeatable read', 'serializable'])('under %s', (level) => {
  const begin = async () => {
    const on = await db.connect();
    await on.query(`begin isolation level ${level}; select count(*) from tock.leases`);
    return on;
  };

  test.each(Object.entries(refused))('%s is refused, with a hint', async (verb, call) => {
    await enqueue(client, 'q', [{}]);
    const old = await begin();
    const error = await refusal(old.query(call));
    expect(error).toMatchObject({ code: 'TK409', hint: expect.stringContaining('read committed') });
    const inner: Record<string, string> = { reprioritize: 'change', reschedule: 'change' };
    const verbInMessage =
      inner[verb] ?? verb.replace('reprioritize_where', 'change').replace('_where', '');
    expect(error.message).toContain(`${verbInMessage}() needs isolation level read committed`);
    await old.query('rollback');
  });

  test.each(works)('%s works', async (_, call) => {
    await enqueue(client, 'works', [{}, {}]);
    const lease = leaseOf(await claim(client, 'works', { limit: 9 }));
    const old = await begin();
    expect(await call(old, lease)).toBeTruthy();
    await old.query('commit');
    await expectInvariants(client);
  });

  test.each(works.slice(1))(
    '%s gets 40001 if another session has changed the lease meanwhile',
    async (_, call) => {
      await enqueue(client, 'works', [{}]);
      const lease = leaseOf(await claim(client, 'works', { limit: 9 }));
      const old = await begin();
      await extend(client, lease);
      expect((await refusal(call(old, lease))).code).toBe('40001');
      await old.query('rollback');
      expect(await complete(client, lease)).toMatchObject({ completed: 1 });
      await expectInvariants(client);
    },
  );
});
