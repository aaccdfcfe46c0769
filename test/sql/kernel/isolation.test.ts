import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import { expectInvariants } from '../invariants.ts';
import { client, databasePerFile } from '../test_database.ts';
import { claim, complete, enqueue, extend, fail, leaseOf, refusal, release } from '../verbs.ts';
import { begin } from './sessions.ts';

databasePerFile();

/** Each call, and the verb that its error names. */
const refused = [
  ["claim('q')", 'claim'],
  ["claim_any(array['q'])", 'claim_any'],
  ["claim_for_worker('q', 'w')", 'claim_for_worker'],
  ['cancel(array[1::bigint])', 'cancel'],
  [`change(array[1::bigint], '{"priority": 1}')`, 'change'],
  ['reprioritize(array[1::bigint], 1)', 'change'],
  ['reschedule(array[1::bigint], now())', 'change'],
  ["move(array[1::bigint], 'other')", 'move'],
  ["cancel_where('q')", 'cancel'],
  ["reprioritize_where('q', '{}', 1)", 'change'],
  ['rerun(array[1::bigint])', 'rerun'],
  ["redrive('q')", 'redrive'],
  ['erase(1)', 'erase'],
  ["purge_queue('q')", 'purge_queue'],
  ["drop_queue('q', true)", 'drop_queue'],
] as const;

type Verb = [string, (on: pg.Client, lease: string) => Promise<unknown>];
const works: Verb[] = [
  ['enqueue', (on) => enqueue(on, 'other', [{ payload: 1 }])],
  ['complete', (on, lease) => complete(on, lease)],
  ['fail', (on, lease) => fail(on, lease)],
  ['release', (on, lease) => release(on, lease)],
  ['extend', (on, lease) => extend(on, lease)],
];

describe.each(['repeatable read', 'serializable'])('under %s', (level) => {
  const beginOld = () => begin(`isolation level ${level}; select count(*) from tock.leases`);

  test.each(refused)('%s is refused, with a hint', async (call, verb) => {
    await enqueue(client, 'q', [{}]);
    const old = await beginOld();
    const error = await refusal(old.query(`select * from tock.${call}`));
    expect(error).toMatchObject({ code: 'TK409', hint: expect.stringContaining('read committed') });
    expect(error.message).toContain(`${verb}() needs isolation level read committed`);
    await old.query('rollback');
  });

  test.each(works)('%s works', async (_, call) => {
    await enqueue(client, 'works', [{}, {}]);
    const lease = leaseOf(await claim(client, 'works', { limit: 9 }));
    const old = await beginOld();
    expect(await call(old, lease)).toBeTruthy();
    await old.query('commit');
    await expectInvariants(client);
  });

  test.each(works.slice(1))(
    '%s gets 40001 if another session has changed the lease meanwhile',
    async (_, call) => {
      await enqueue(client, 'works', [{}]);
      const lease = leaseOf(await claim(client, 'works', { limit: 9 }));
      const old = await beginOld();
      await extend(client, lease);
      expect((await refusal(call(old, lease))).code).toBe('40001');
      await old.query('rollback');
      expect(await complete(client, lease)).toMatchObject({ completed: 1 });
      await expectInvariants(client);
    },
  );
});
