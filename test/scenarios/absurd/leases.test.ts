import { expect } from 'vitest';
import { LeaseLost } from '../../../client/index.ts';
import { queue, tock } from '../../client/service.ts';
import { advance, leased, scenario, taskOf, useTock } from './scenario.ts';

useTock();

scenario(
  'a heartbeat moves the end of a lease',
  'test_extend_claim_updates_running_lease, basic.test.ts: heartbeat extends claim timeout',
  async () => {
    const { id, lease } = await leased(queue());
    const { leased_until } = await lease.extend(3600);
    expect(Date.parse(leased_until)).toBeGreaterThan(Date.parse(lease.leased_until));
    expect((await taskOf(id)).runs[0]?.leased_until).toBe(leased_until);
  },
);

scenario(
  'a task whose lease was extended is completed after the first end of its lease',
  'basic.test.ts: heartbeat keeps task alive past original claim timeout',
  async () => {
    const { id, lease } = await leased(queue());
    await lease.extend(3600);
    await advance(600);
    await lease.complete([{ id, result: 'late' }]);
    expect(await taskOf(id)).toMatchObject({ state: 'done', attempt: 1, lost: 0, result: 'late' });
  },
);

scenario(
  'a heartbeat of no time or less is refused, and changes nothing',
  'test_extend_claim_rejects_invalid_extend_by, test_sync_heartbeat_zero_is_rejected_by_sql',
  async () => {
    const { id, lease } = await leased(queue());
    const refused = { status: 422, field: 'lease_seconds' };
    for (const seconds of [0, -1])
      await expect(lease.extend(seconds)).rejects.toMatchObject(refused);
    expect((await taskOf(id)).runs[0]?.leased_until).toBe(lease.leased_until);
  },
);

scenario(
  'a lease that is unknown, has failed or sleeps is not extended',
  'test_extend_claim_missing_run_errors, test_extend_claim_failed_run_raises_ab002, ' +
    'test_extend_claim_non_running_run_errors, test_sync_heartbeat_on_failed_run_raises_failed_task',
  async () => {
    const failed = await leased(queue());
    await failed.lease.fail();
    const asleep = await leased(queue());
    const nap = { id: asleep.id, name: 'nap', sleep_seconds: 300 };
    await tock.leases.saveSteps(asleep.lease.lease, [nap]);
    for (const lease of [crypto.randomUUID(), failed.lease.lease, asleep.lease.lease])
      await expect(tock.leases.extend(lease)).rejects.toBeInstanceOf(LeaseLost);
    expect(await taskOf(asleep.id)).toMatchObject({ state: 'waiting' });
  },
);
