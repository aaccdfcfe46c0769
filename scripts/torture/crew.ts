import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { heard, type Torture } from './torture.ts';
import type { Word } from './worker.ts';

/** Worker processes, each replaced when it dies; what they say goes to the ledger. */
export function startCrew({ ledger, stack, key }: Torture, count: number, seed: number) {
  const workers = new Map<number, { child: ChildProcess; ended: Promise<void> }>();
  let stopping = false;
  let draining = false;
  let born = 0;

  function hear(word: Word): void {
    switch (word[0]) {
      case 'claimed':
        ledger.claimed(word[1], word[2], word[3]);
        break;
      case 'tried':
        for (const n of word[2]) ledger.asked[word[1]].add(n);
        break;
      case 'done':
        for (const run of word[3]) ledger.done(word[1], word[2], run, word[4]);
        break;
      case 'spawning':
        ledger.unsure(word[1]);
        break;
      case 'spawned':
        ledger.count('tasks spawned', word[1].length);
        for (const n of word[1]) ledger.numbers.set(n, { least: 1, most: 1 });
        break;
      case 'said':
        heard(ledger, word[1], word[2], word[3]);
    }
  }

  function hire(place: number): void {
    const file = join(import.meta.dirname, 'worker.ts');
    const name = `worker-${++born}`;
    const child = spawn(process.execPath, [file, name, String(seed + born), String(born)], {
      env: { ...process.env, TORTURE_URL: stack.url, TORTURE_KEY: key },
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
