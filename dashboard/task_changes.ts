import { call } from './api.ts';
import { plural } from './format.ts';
import type { Listed } from './types.ts';

/** What a change needs to know of a task. */
export type Changeable = Pick<Listed, 'id' | 'queue' | 'state' | 'rerun'>;

/** The most ids of one call, so that a call is short and a stop is heard soon. */
export const BATCH_SIZE = 1000;

/** The ids of one call. A repeat after a lost answer is the same call, so that no task is rerun twice. */
export type Batch = { ids: string[]; requestId: string };

export function batchesOf(ids: string[]): Batch[] {
  const count = Math.ceil(ids.length / BATCH_SIZE);
  return Array.from({ length: count }, (_, n) => ({
    ids: ids.slice(n * BATCH_SIZE, (n + 1) * BATCH_SIZE),
    requestId: crypto.randomUUID(),
  }));
}

export type Change = {
  name: string;
  /** The label of the button in the dialog, and what the dialog says. */
  confirmLabel: string;
  title(tasks: string): string;
  text: string;
  danger?: boolean;
  /** What the user has to give. */
  input?: 'queue' | 'priority';
  /** What has happened to a task: cancelled. */
  done(value: string): string;
  appliesTo(task: Changeable): boolean;
  /** Returns the number of changed tasks. */
  send(key: string, batch: Batch, value: string): Promise<number>;
};

const ended = new Set<string>(['done', 'dead', 'cancelled', 'expired']);
const unfinished = ({ state }: Changeable) => !ended.has(state);
const changed = ({ tasks }: { tasks: { changed: boolean }[] }) =>
  tasks.filter((task) => task.changed).length;

const rerun =
  (again: boolean) =>
  async (key: string, { ids, requestId }: Batch): Promise<number> => {
    const body = { ids, request_id: requestId, reason: 'from the dashboard', again };
    const { tasks } = await call(key, 'POST /v1/tasks/rerun', { body });
    return tasks.filter(({ rerun_id }) => rerun_id !== null).length;
  };

export const changes: Change[] = [
  {
    name: 'Rerun',
    confirmLabel: 'Rerun',
    title: (tasks) => `Rerun ${tasks}?`,
    text: 'Each runs again as a new task. Tasks that were run again already are left out.',
    done: () => 'rerun',
    appliesTo: (task) => !unfinished(task) && !task.rerun,
    // Another call may have rerun some since the list was read.
    send: rerun(false),
  },
  {
    name: 'Rerun once more',
    confirmLabel: 'Rerun once more',
    title: (tasks) => `Rerun ${tasks} once more?`,
    text: 'These were run again already. Each runs once more, as a new task.',
    done: () => 'rerun',
    appliesTo: (task) => !unfinished(task) && !!task.rerun,
    send: rerun(true),
  },
  {
    name: 'Priority',
    confirmLabel: 'Change',
    title: (tasks) => `Change the priority of ${tasks}?`,
    text: 'A running task takes the priority at its next attempt.',
    input: 'priority',
    done: (value) => `given priority ${value}`,
    appliesTo: unfinished,
    send: async (key, { ids }, value) =>
      changed(
        await call(key, 'POST /v1/tasks/reprioritize', { body: { ids, priority: Number(value) } }),
      ),
  },
  {
    name: 'Move',
    confirmLabel: 'Move',
    title: (tasks) => `Move ${tasks} to another queue?`,
    text: 'Tasks with a concurrency key, a unique key or a pipeline stay where they are.',
    input: 'queue',
    done: (value) => `moved to ${value}`,
    appliesTo: ({ state }) => state === 'waiting' || state === 'ready',
    send: async (key, { ids }, value) =>
      changed(await call(key, 'POST /v1/tasks/move', { body: { ids, queue: value } })),
  },
  {
    name: 'Cancel',
    confirmLabel: 'Cancel them',
    title: (tasks) => `Cancel ${tasks}?`,
    text: 'They will not run. Of running ones a cancel is requested from their workers.',
    danger: true,
    done: () => 'cancelled',
    appliesTo: unfinished,
    send: async (key, { ids }) =>
      changed(await call(key, 'POST /v1/tasks/cancel', { body: { ids } })),
  },
];

/** 3 tasks are cancelled. */
export const outcome = (change: Change, tasks: number, value: string) =>
  `${plural(tasks, 'task is', 'tasks are')} ${change.done(value)}.`;
