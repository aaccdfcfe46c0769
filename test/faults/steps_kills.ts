import { join } from 'node:path';
import { expect } from 'vitest';
import { startChild } from '../../scripts/child.ts';
import { enqueue, rows, task, value } from '../sql/verbs.ts';
import type { MortalWorker, Place, Scenario } from './boundaries.ts';
import { eventOf, QUEUE } from './steps_flow.ts';
import type { FlowWorker } from './steps_worker.ts';

/** Makes what sleeps, or is to be tried again, due. */
async function wake({ owner }: Place): Promise<void> {
  for (const table of ['waiting', 'steps'])
    await owner.query(
      `update tock.${table} set due_at = now() - interval '1 s' where due_at < 'infinity'`,
    );
  await owner.query('select tock.promote(p_sweep => true)');
}

type Saved = { name: string; kind: string; state: string; result: unknown; failures: number };

const steps = ['charge', 'pack', 'label', 'ship'];

/** The flow as a task. `exactlyOnce`: its last effect is one with its completion. */
export function flowScenario(place: Place, exactlyOnce: boolean): Scenario {
  const { owner, ledger } = place;
  const savedSteps = (id: string) =>
    rows<Saved>(owner, 'select * from tock.task_steps(p_id => $1)', [id]);
  /** The length of the ledger when the task was woken from its sleep. */
  let awake_at: number | undefined;
  return {
    async begin() {
      awake_at = undefined;
      // One attempt, so a sleep, a wait, a step's own retry or a death that counts as an attempt makes it dead.
      const [id = ''] = await enqueue(owner, QUEUE, [{ max_attempts: 1 }]);
      return id;
    },
    async between(worker, id) {
      const waiting = (await savedSteps(id)).filter(({ state }) => state === 'waiting');
      if (waiting.some(({ kind }) => kind === 'event')) return worker.signal(id);
      if (waiting.length > 0) awake_at ??= ledger.length;
      return wake(place);
    },
    async check(id, end) {
      const saved = new Map((await savedSteps(id)).map((step) => [step.name, step]));
      const ended = await task(owner, id);
      const event = await value(owner, 'select payload from tock.events where event = $1', [
        eventOf(id),
      ]);
      const results = steps.map((name) => [name, saved.get(name)?.result]);
      expect(ended?.result).toEqual({ ...Object.fromEntries(results), approval: event });
      expect(ended).toMatchObject({ attempt: 1 + (ended?.lost ?? 0) });
      expect(ended?.lost).toBeLessThanOrEqual(1);
      const executions = ledger.slice(0, end).filter((execution) => execution.id === id);
      for (const name of steps) {
        const numbers = executions.flatMap((other) => (other.name === name ? [other.n] : []));
        // The last execution is the one that was saved, so none came after the checkpoint.
        expect(saved.get(name), name).toMatchObject({ state: 'done', result: numbers.at(-1) });
      }
      // A death repeats the steps that were at work: one, or the two that run at once.
      expect(executions.length).toBeLessThanOrEqual(steps.length + 1 + 2);
      expect(executions.find(({ name }) => name === 'pack')?.n).toBeGreaterThanOrEqual(
        awake_at ?? Number.POSITIVE_INFINITY,
      );
      const effects = 'select count(*)::integer from public.effects where task = $1';
      expect(await value(owner, effects, [id])).toBe(exactlyOnce ? 1 : 0);
    },
  };
}

/** A worker in a process of its own, which kill() ends with SIGKILL. */
export function childWorker(kind: 'http' | 'sql', env: Record<string, string>): MortalWorker {
  let idle = () => {};
  const script = join(import.meta.dirname, 'steps_worker.ts');
  const child = startChild([script, kind], env, () => idle());
  const command = (line: string) =>
    Promise.race([
      child.ended,
      new Promise<void>((resolve) => {
        idle = resolve;
        child.writeLine(line);
      }),
    ]);
  return {
    work: () => command('work'),
    signal: (id) => command(`signal ${id}`),
    async kill() {
      child.kill('SIGKILL');
      await child.ended;
    },
    stop: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
  };
}

/** A worker in this process, which nothing kills. */
export const immortal = (worker: FlowWorker): MortalWorker => ({ ...worker, kill: async () => {} });
