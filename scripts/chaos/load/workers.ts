import { join } from 'node:path';
import { type Child, startChild } from '../../child.ts';
import type { Chaos } from '../chaos.ts';
import type { OnOutcome } from '../drivers/driver.ts';
import type { Target } from '../drivers/open.ts';
import type { Word } from './words.ts';

/** Starts worker processes and replaces each one that dies. Their reports go to the journal. */
export function startWorkers(
  chaos: Chaos,
  target: Target,
  heard: OnOutcome,
  count: number,
  seed: number,
) {
  const { journal, ledger } = chaos;
  const workers = new Map<number, Child>();
  let [stopping, draining, born] = [false, false, 0];

  function onMessage(word: Word) {
    switch (word[0]) {
      case 'claimed':
        return journal.claimed(word[1]);
      case 'repeated':
        return journal.repeated(word[1]);
      case 'requested':
        return journal.requested(word[1]);
      case 'settled':
        return journal.settled(word[1], word[2], 'sure');
      case 'ending':
        return journal.ending(word[1]);
      case 'ended':
        return journal.ended(word[1], word[2], word[3], word[4]);
      case 'executed':
        return journal.executed(word[1]);
      case 'stepped':
        return journal.stepped(word[1]);
      case 'heard':
        return heard(word[1], word[2], word[3]);
      case 'differ':
        return ledger.differ(word[1], 0, `${word[2]}: ${word[3]}`);
    }
  }

  function startWorker(place: number): void {
    const argv = [join(import.meta.dirname, 'worker.ts'), `worker-${++born}`, String(seed + born)];
    const worker = startChild<Word>(argv, { CHAOS_TARGET: JSON.stringify(target) }, onMessage);
    if (draining) worker.writeLine('drain');
    workers.set(place, worker);
    void worker.ended.then(() => !stopping && startWorker(place));
  }
  for (let place = 0; place < count; place++) startWorker(place);

  return {
    pids: () => [...workers.values()].map(({ pid }) => pid),
    /** kill -9 of one worker, which may hold leases. */
    kill: (which: number) => workers.get(which % count)?.kill('SIGKILL') ?? false,
    /** From now on the workers complete all claimed tasks at once. */
    drain(): void {
      draining = true;
      for (const worker of workers.values()) worker.writeLine('drain');
    },
    async stop(): Promise<void> {
      stopping = true;
      for (const worker of workers.values()) worker.close();
      await Promise.all([...workers.values()].map(({ ended }) => ended));
    },
  };
}

export type Workers = ReturnType<typeof startWorkers>;
