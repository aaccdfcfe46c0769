import type pg from 'pg';
import { expect } from 'vitest';
import { brokenSentences } from '../../scripts/chaos/checker/invariants.ts';

export { brokenSentences };

/** Fails, naming them, when runs or tasks were lost, doubled or passed over. */
export async function expectInvariants(client: pg.ClientBase): Promise<void> {
  expect(await brokenSentences(client)).toEqual({});
}
