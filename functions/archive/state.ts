import { indexOf, type RunTexts } from './columns.ts';

/** How a task ended, by its last run. */
export function stateOf(row: RunTexts): string {
  const state = row[indexOf('state')] ?? '';
  return ['failed', 'lost', 'superseded'].includes(state) ? 'dead' : state;
}

/** Whether a run is the last one of its task. */
export const isLast = (row: RunTexts): boolean => (row[indexOf('next_id')] ?? null) === null;
