import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expected } from './codes.ts';
import { queue, type Soak } from './soak.ts';
import type { Word } from './worker.ts';

type Worker = { child: ChildProcess; ended: Promise<void> };

/** Worker processes, each replaced when it dies; what they say goes to the ledger. */
export function startCrew(soak: Soak, count: number, seed: number) {
  const { ledger, stack } = soak;
  const workers = new Map<number, Worker>();
  let stopping = false;
  let draining = false;
  let born = 0;

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

  function hire(place: number): void {
    const file = join(import.meta.dirname, 'worker.ts');
    const child = spawn(process.execPath, [file, `worker-${++born}`, String(seed + born), queue], {
      env: { ...process.env, SOAK_URL: stack.ownerUrl, SOAK_POOLED_URL: stack.pooledUrl },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    child.stdin?.on('error', () => {});
    if (draining) child.stdin?.write('drain\n');
    createInterface({ input: child.stdout }).on('line', (line) => {
      // The last line of one that was killed may be cut.
      if (line.endsWith(']')) hear(JSON.parse(line) as Word);
    });
    const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
    workers.set(place, { child, ended });
    void ended.then(() => !stopping && hire(place));
  }
  for (let place = 0; place < count; place++) hire(place);

  return {
    /** kill -9 of one of them, which may hold leases. */
    kill(which: number): void {
      workers.get(which % count)?.child.kill('SIGKILL');
    },
    /** From now on everything claimed is completed at once. */
    drain(): void {
      draining = true;
      for (const { child } of workers.values()) child.stdin?.write('drain\n');
    },
    async stop(): Promise<void> {
      stopping = true;
      for (const { child } of workers.values()) child.stdin?.end();
      await Promise.all([...workers.values()].map((worker) => worker.ended));
    },
  };
}

export type Crew = ReturnType<typeof startCrew>;
