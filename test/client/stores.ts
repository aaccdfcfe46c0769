import { createTock, type Tock } from '../../client/index.ts';
import { createTestTock } from '../../client/testing.ts';
import type { ClientService } from './service.ts';

/** `advance` lets time pass: in memory it moves a clock, in the database it dates rows back. */
export type Subject = { tock: Tock; advance(seconds: number): Promise<unknown> };

export function inDatabase(there: ClientService): Subject {
  const advance = async (seconds: number) => {
    const by = [`${seconds} seconds`];
    const { owner } = there;
    await owner.query('update tock.waiting set due_at = due_at - $1::interval', by);
    await owner.query('update tock.steps set due_at = due_at - $1::interval', by);
    const open = 'where closed_at is null';
    await owner.query(
      `update tock.leases set leased_until = leased_until - $1::interval ${open}`,
      by,
    );
    await owner.query('select tock.promote(p_sweep => true)');
    await owner.query('select tock.reap(p_sweep => true)');
  };
  return { tock: createTock(there.options), advance };
}

export const inMemory = (): Subject => {
  const { advance, ...tock } = createTestTock();
  return { tock, advance: async (seconds) => advance(seconds) };
};
