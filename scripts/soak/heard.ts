import { join } from 'node:path';
import { expected } from './codes.ts';
import { startCrew } from './crew.ts';
import { queue, type Soak } from './soak.ts';
import type { Word } from './worker.ts';

/** The soak's workers; what they say goes to the ledger. */
export function startSoakers({ ledger, stack }: Soak, count: number, seed: number) {
  function hear(word: Word): void {
    switch (word[0]) {
      case 'claimed':
        ledger.count('runs claimed', word[3].length);
        ledger.claimed(word[1], word[2], word[3]);
        break;
      case 'tried':
        ledger.tried(word[1], word[2]);
        break;
      case 'done':
        ledger.done(word[1], word[2], word[3]);
        break;
      case 'did':
        ledger.count(word[1], word[2]);
        break;
      case 'error':
        ledger.count(`${word[1]} refused: ${word[2]}`);
        if (!expected.test(word[2])) {
          ledger.differ('an error that nothing explains', 0, `${word[1]}: ${word[2]} ${word[3]}`);
        }
    }
  }
  const file = join(import.meta.dirname, 'worker.ts');
  return startCrew(count, {
    argv: (born) => [file, `worker-${born}`, String(seed + born), queue],
    env: { SOAK_URL: stack.ownerUrl, SOAK_POOLED_URL: stack.pooledUrl },
    hear,
  });
}
