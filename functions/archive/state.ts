import { placeOf, type Texts } from './columns.ts';

/** How a task ended, by its last run. */
export function stateOf(row: Texts): string {
  const state = row[placeOf('state')] ?? '';
  return ['failed', 'lost', 'superseded'].includes(state) ? 'dead' : state;
}

/** Whether a run is the last of its task. */
export const isLast = (row: Texts): boolean => (row[placeOf('next_id')] ?? null) === null;
