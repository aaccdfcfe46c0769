import { expect } from 'vitest';
import { save, signal, stepsOf } from '../../sql/features/steps/steps.ts';
import { cancel } from '../../sql/kernel/change/changes.ts';
import { begin, invariantsAfterEach, overlapping } from '../../sql/kernel/sessions.ts';
import { client, databasePerFile } from '../../sql/test_database.ts';
import { claim, complete, enqueue, fail, type Run, task } from '../../sql/verbs.ts';
import { scenario } from './scenario.ts';

databasePerFile();
invariantsAfterEach();

async function begun(queue: string): Promise<Run> {
  await enqueue(client, queue, [{}]);
  return (await claim(client, queue))[0] as Run;
}

scenario(
  'a signal that meets a wait which is being saved wakes its task',
  'test_await_emit_event_race_does_not_lose_wakeup',
  async () => {
    const run = await begun('race');
    const [saved, signalled] = await overlapping(
      (on) => save(run, { name: 'wait', event: 'race' }, on),
      (on) => signal('race', 42, on),
    );
    expect(saved).toMatchObject({ state: 'waiting' });
    expect(signalled).toEqual({ accepted: true, woken: 1 });
    const [awake] = await claim(client, 'race');
    expect(awake?.id).toBe(run.id);
    expect(await stepsOf(run.id)).toEqual({ wait: ['done', 42] });
  },
);

const ends = {
  complete: [complete, 'done', 'test_cancel_and_complete_run_do_not_deadlock'],
  fail: [fail, 'dead', 'test_cancel_and_fail_run_do_not_deadlock'],
} as const;

for (const [verb, [end, state, absurd]] of Object.entries(ends)) {
  scenario(
    `a cancel does not wait for an open transaction that has called ${verb}, and that end counts`,
    absurd,
    async () => {
      await enqueue(client, verb, [{ max_attempts: 1 }]);
      const [run] = (await claim(client, verb)) as [Run];
      const holder = await begin();
      await end(holder, run.lease);
      expect(await cancel(client, [run.id])).toEqual([
        { id: run.id, state: 'running', changed: true },
      ]);
      await holder.query('commit');
      expect(await task(client, run.id)).toMatchObject({ state });
    },
  );
}
