import type pg from 'pg';
import { expect } from 'vitest';
import { brokenSentences } from '../../scripts/chaos/checker/invariants.ts';

export { brokenSentences };

/** Fails with the broken invariants if runs or tasks were lost, doubled or skipped. */
export async function expectInvariants(client: pg.ClientBase): Promise<void> {
  expect(await brokenSentences(client)).toEqual({});
}
