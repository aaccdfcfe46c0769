import type { Tock } from '../../client/index.ts';
import type { Subject } from './stores.ts';

export const some = (of: object, names: string) => {
  const values = new Map(Object.entries(of));
  return Object.fromEntries(names.split(' ').map((name) => [name, values.get(name)]));
};

/** The fields of a task that are compared: all that do not depend on ids or clocks. */
export async function shown(tock: Tock, id = '') {
  const task = await tock.task(id);
  if (!task) return null;
  const names =
    'state priority tenant attempt max_attempts lost payload result error progress note';
  const runs = task.runs.map((run) => some(run, 'state attempt worker progress result error'));
  return { ...some(task, names), runs };
}

export type Scenario = (subject: Subject, queue: string) => Promise<unknown>;
