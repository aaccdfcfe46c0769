import { describe, expect, test } from 'vitest';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expireTask,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  pidOf,
  promote,
  refusal,
  rows,
  task,
  value,
  waitForState,
  waitUntilBlocked,
} from '../../verbs.ts';
import { cancel, codeOf, completeAll, stateOf, withoutWaiting } from './spawns.ts';

databasePerTest();

const reschedule = 'select tock.reschedule(array[$1::bigint], now())';

/** Makes all children look as if they had waited for 50 minutes and had just been checked. */
async function watchedForLong(): Promise<void> {
  await client.query(
    "update tock.dependency_waits set waiting_since = now() - interval '50 minutes'",
  );
  await client.query(
    `update tock.waiting set due_at = clock_timestamp() + interval '50 minutes'
     where due_after_parents is not null`,
  );
}
const settles = (id: string) => waitForState(client, id, 'ready', false);

test('the first task of a call with *: an empty batch with a callback', async () => {
  const [id = ''] = await enqueue(client, 'q', [{ payload: 'callback', depends_on: ['*'] }]);
  expect(await stateOf(id)).toBe('ready');
});

test('ids of 19 digits', async () => {
  await client.query('select tock.found_range(112)');
  const [parent = ''] = await enqueue(client, 'q', [{}]);
  expect(parent).toMatch(/^\d{19}$/);
  const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
  expect(await stateOf(child)).toBe('waiting');
});

test('digits of other scripts are no id, and a unique_key of null may stand beside names', async () => {
  const error = await refusal(enqueue(client, 'q', [{ name: 'x' }, { depends_on: ['١٢٣'] }]));
  expect(error.code).toBe('TK422');
  await enqueue(client, 'q', [{ name: 'a', unique_key: null }, { depends_on: ['a'] }]);
});

test('tasks is an object, with a key for some queues', async () => {
  await client.query(`select tock.put_queue('q')`);
  const made = "select key from tock.create_key('k', array['enqueue'], array['q'])";
  const body = JSON.stringify({ tasks: { depends_on: ['1'] } });
  const call = [await value(client, made), 'q', body];
  const error = await refusal(client.query('select tock.http_enqueue($1, $2, $3, null)', call));
  expect(error.code).toBe('TK422');
});

describe('lost notifications', () => {
  test('a child whose row another transaction had locked when its parent ended', async () => {
    const [parent = ''] = await enqueue(client, 'q', [{}]);
    const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
    await watchedForLong();
    const other = await begin();
    await other.query('select tock.reprioritize(array[$1::bigint], 3)', [child]);
    await completeAll('q');
    await other.query('commit');
    await settles(child);
  });

  test('a child that a promotion was checking when its parent ended', async () => {
    const [parent = ''] = await enqueue(client, 'q', [{}]);
    const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
    await watchedForLong();
    await client.query("update tock.waiting set due_at = now() - interval '1 s'");
    const runs = await claim(client, 'q');
    const other = await begin();
    await promote(other);
    await complete(client, leaseOf(runs));
    await other.query('commit');
    await settles(child);
  });

  const ends: [how: string, end: (id: string) => Promise<unknown>][] = [
    ['cancel', cancel],
    ['purge', () => client.query("select * from tock.purge_queue('p')")],
    [
      'drop',
      async () => {
        await client.query("select tock.put_queue('p', '{\"paused\": true}')");
        await client.query("select * from tock.drop_queue('p')");
      },
    ],
  ];
  describe.each(ends)('%s', (_, end) => {
    test.each([0, 1000])(
      'of a parent with a delay of %i whose child has waited for long',
      async (delay_seconds) => {
        const [parent = ''] = await enqueue(client, 'p', [{ delay_seconds }]);
        const [child = ''] = await enqueue(client, 'q', [
          { depends_on: [parent], on_parent_failure: 'run' },
        ]);
        await watchedForLong();
        await end(parent);
        expect(await stateOf(parent)).toBe('cancelled');
        await settles(child);
      },
    );
  });
});

describe('stale dependency waits', () => {
  async function expectNone(): Promise<void> {
    await promote(client);
    await client.query('select tock.tick()');
    const left = 'select count(*)::integer from tock.dependency_waits';
    expect(await value<number>(client, left)).toBe(0);
  }
  test.each(['is purged', 'expires'])('of a cancelled child whose parent %s then', async (end) => {
    const [parent = ''] = await enqueue(client, 'p', [{ expires_in_seconds: 1000 }]);
    const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
    await cancel(child);
    if (end === 'expires') {
      await expireTask(client, parent);
      await promote(client);
      expect(await claim(client, 'p')).toEqual([]);
    } else await client.query("select * from tock.purge_queue('p')");
    await expectNone();
  });
  test('of a purged queue of children of a dead parent', async () => {
    const [parent = ''] = await enqueue(client, 'p', [{}]);
    const waits = { depends_on: [parent], on_parent_failure: 'wait' };
    await enqueue(client, 'q', numberedTasks(100, 0, waits));
    await fail(client, leaseOf(await claim(client, 'p')), { fatal: true });
    await client.query("select * from tock.purge_queue('q')");
    await expectNone();
  });
});

describe('while another transaction has made a waiting parent ready', () => {
  async function childOfLockedParent() {
    const [parent = ''] = await enqueue(client, 'p', [{ delay_seconds: 1000 }]);
    const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
    const [plain = ''] = await enqueue(client, 'z', [{ delay_seconds: 1000 }]);
    await makeDue(client, 'q');
    const other = await begin();
    await other.query(reschedule, [parent]);
    return { other, child, plain };
  }

  test('promotion waits for no lock', async () => {
    await childOfLockedParent();
    await withoutWaiting(async () => {
      await promote(client);
      expect(await value(client, "select tock.run_maintenance('promote')")).not.toBeNull();
    });
  });

  test('a claim of another queue waits for no lock, and promotes a due task', async () => {
    const { plain } = await childOfLockedParent();
    await makeDue(client, 'z');
    await withoutWaiting(async () => {
      const runs = await rows(client, "select id from tock.claim('z', p_own_transaction => true)");
      expect(runs).toEqual([{ id: plain }]);
    });
  });

  test('promotion does not deadlock with that transaction when it cancels the child', async () => {
    const { other, child } = await childOfLockedParent();
    const pid = await pidOf(client);
    const promoting = codeOf(promote(client));
    await waitUntilBlocked(other, pid, promoting);
    const cancel = 'select tock.cancel(array[$1::bigint])';
    const first = await codeOf(other.query(cancel, [child]));
    await other.query(first === null ? 'commit' : 'rollback');
    expect([first, await promoting]).toEqual([null, null]);
  });
});

test('an expired child that was erased stays erased', async () => {
  const [parent = ''] = await enqueue(client, 'p', [{}]);
  const [child = ''] = await enqueue(client, 'q', [
    { payload: 'secret', depends_on: [parent], include_results: true, expires_in_seconds: 1000 },
  ]);
  await expireTask(client, child);
  expect(await stateOf(child)).toBe('expired');
  await client.query('select tock.erase($1)', [child]);
  await completeAll('p', 'of a person');
  await promote(client);
  expect(await task(client, child)).toMatchObject({ state: 'expired', payload: null });
});

test('parents() in a read-only transaction', async () => {
  const [parent = ''] = await enqueue(client, 'p', [
    { delay_seconds: 1000, expires_in_seconds: 2000 },
  ]);
  const [child = ''] = await enqueue(client, 'q', [{ depends_on: [parent] }]);
  await expireTask(client, parent);
  await client.query('begin read only');
  expect(await rows(client, 'select * from tock.parents($1)', [child])).toHaveLength(1);
});
