import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Api, expectOk } from './api.ts';

export type Run = { id: string; state: string; worker: string | null; ended_at: string | null };

type Task = { id: string; state: string; payload: unknown; result: unknown; runs: Run[] };

export type Verdict = {
  runs: number;
  lost: Run[];
  failed: number;
  released: number;
  right: number;
  wrong: string[];
};

type Hashed = { sha256: string; lines: number };

function direct(root: string, path: string): Hashed {
  const bytes = readFileSync(join(root, path));
  return { sha256: hash('sha256', bytes), lines: bytes.toString('latin1').split('\n').length - 1 };
}

function fault(task: Task, path: string, root: string): string | null {
  const done = task.runs.filter((run) => run.state === 'done').length;
  if (task.state !== 'done') return `it is ${task.state}`;
  if (done !== 1) return `it was completed ${done} times`;
  const { path: kept } = task.payload as { path: string };
  if (kept !== path) return `its payload names ${kept}`;
  // The result of a pushed task has the receiver's answer in `body`.
  const { body, ...result } = task.result as Partial<Hashed> & { body?: Hashed };
  const { sha256, lines } = body ?? result;
  const expected = direct(root, path);
  return sha256 === expected.sha256 && lines === expected.lines
    ? null
    : `its result is ${sha256}, ${lines} lines, not ${expected.sha256}, ${expected.lines} lines`;
}

/** Reads every task over HTTP, eight at a time, and compares it with its file. */
export async function check(
  call: Api,
  ids: string[],
  paths: string[],
  root: string,
  stopping: AbortSignal,
): Promise<Verdict> {
  const verdict: Verdict = { runs: 0, lost: [], failed: 0, released: 0, right: 0, wrong: [] };
  let next = 0;
  const compareSome = async () => {
    for (let index = next++; index < ids.length; index = next++) {
      stopping.throwIfAborted();
      const path = paths[index] ?? '';
      const task = await expectOk<Task>(call(`/v1/tasks/${ids[index]}`));
      verdict.runs += task.runs.length;
      verdict.lost.push(...task.runs.filter((run) => run.state === 'lost'));
      verdict.failed += task.runs.filter((run) => run.state === 'failed').length;
      verdict.released += task.runs.filter((run) => run.state === 'superseded').length;
      const wrong = fault(task, path, root);
      if (wrong) verdict.wrong.push(`task ${ids[index]} (${path}): ${wrong}`);
      else verdict.right++;
    }
  };
  const report = () => process.stdout.write(`  ${next} of ${ids.length} compared\n`);
  const timer = setInterval(report, 5000);
  try {
    await Promise.all(Array.from({ length: 8 }, compareSome));
  } finally {
    clearInterval(timer);
  }
  return verdict;
}
