import { join } from 'node:path';
import { startCrew } from '../soak/crew.ts';
import type { Torture } from './torture.ts';
import type { Word } from './worker.ts';

/** The torture's workers; what they say are facts. */
export function startTormented(torture: Torture, count: number, seed: number) {
  const { facts, ledger, stack, heard } = torture;
  function hear(word: Word): void {
    switch (word[0]) {
      case 'claimed':
        facts.claimed(word[1]);
        break;
      case 'asked':
        facts.asked(word[1]);
        break;
      case 'settled':
        facts.settled(word[1], word[2], 'sure');
        break;
      case 'ending':
        facts.ending(word[1]);
        break;
      case 'ended':
        facts.ended(word[1], word[2], word[3], word[4]);
        break;
      case 'heard':
        heard(word[1], word[2], word[3]);
        break;
      case 'differ':
        ledger.differ(word[1], 0, `${word[2]}: ${word[3]}`);
        break;
    }
  }
  const file = join(import.meta.dirname, 'worker.ts');
  return startCrew(count, {
    argv: (born) => [file, `worker-${born}`, String(seed + born)],
    env: { TORTURE_URL: stack.url, TORTURE_KEY: stack.key },
    hear,
  });
}
